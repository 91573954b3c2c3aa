import './templates.ts'
import './list.ts'
import './update.ts'
