import './costs.ts'
import './ledger-connection.ts'
import './limits-update.ts'
import './usage.ts'
