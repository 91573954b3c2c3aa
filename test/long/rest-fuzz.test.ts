import { fuzzEveryRoute } from '../support/rest/fuzz.ts'

fuzzEveryRoute({ runs: 200 })
