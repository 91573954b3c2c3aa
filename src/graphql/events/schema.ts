import './list.ts'
import './subject.ts'
import './watch.ts'
