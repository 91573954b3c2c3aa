import './list.ts'
import './templates.ts'
import './update.ts'
