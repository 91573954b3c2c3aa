import './offers.ts'
import './search.ts'
import './watch.ts'
