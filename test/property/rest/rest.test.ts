import { askEveryRoute } from '../../support/rest/fuzz.ts'

askEveryRoute({ runs: 5 })
