import './limits-update.ts'
import './ledger-connection.ts'
import './costs.ts'
import './usage.ts'
