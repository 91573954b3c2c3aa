import './limits-update.ts'
import './account.ts'
import './costs.ts'
import './usage.ts'
