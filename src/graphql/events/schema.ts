import './list.ts'
import './watch.ts'
