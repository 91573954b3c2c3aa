import './gpu-models.ts'
import './hosted.ts'
import './hosts.ts'
import './machines.ts'
