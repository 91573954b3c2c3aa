import './gpu-models.ts'
import './machines.ts'
