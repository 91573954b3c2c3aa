// An operator's command reads logs in a process of its own, which is no gateway.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { createLogReader } from '../../../../src/command-logs.ts'
import { type Database, openDatabase } from '../../../../src/database/client.ts'
import { createLog } from '../../../../src/http/log.ts'
import { presentWholeInstance } from '../../../../src/operator/instances/rows.ts'
import { instanceLogOperations } from '../../../../src/services/instances/operator/logs.ts'
import { createSecrets } from '../../../../src/services/secrets.ts'
import { startApp, type TestApp } from '../../../support/app.ts'
import { urlAs } from '../../../support/database/roles.ts'
import { type Rentals, rentalsOf, someCredit } from '../../../support/instances/rentals.ts'

let app: TestApp
let rentals: Rentals
let key: string
let database: Database
let logs: ReturnType<typeof instanceLogOperations>

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  key = await app.newKey(null, someCredit)
  const url = urlAs('app', app.database.url)
  database = openDatabase({ url, poolSize: 2, onIdleError: () => {}, now: app.clock.now })
  const openSecrets = async () => createSecrets('a secret of tests')
  const log = createLog('silent', { write: () => {} })
  const readLog = createLogReader({ database, log, simulatedDelay: 1, toolboxFile: 'toolbox.tar' })
  logs = instanceLogOperations({ database, openSecrets, readLog })
})

afterAll(async () => {
  await database.close()
  await app.close()
})

it('prints the last lines of any instance, and says that they are gone with its container', async () => {
  const id = await rentals.rentToStatus(key, 'running', { onstart: 'echo hello\necho world' })
  const all = await logs.lines(BigInt(id), 1_000)
  expect(all.map(({ text }) => text)).toEqual(expect.arrayContaining(['hello', 'world']))
  expect(await logs.lines(BigInt(id), 2)).toEqual(all.slice(-2))
  await app.operations.instances.destroy(BigInt(id), 'Done.')
  await rentals.converge()
  await expect(logs.lines(BigInt(id), 1_000)).rejects.toThrow(
    `Instance ${id} is destroyed, and its log went with its disk.`,
  )
  const destroyed = presentWholeInstance(await app.operations.instances.byId(BigInt(id)))
  expect(destroyed).toMatchObject({ status: 'destroyed', targetState: 'destroyed' })
  expect(destroyed.statusChangedAt).toEqual(destroyed.destroyedAt)
})

it('says that the secret is wrong, and does not blame the machine', async () => {
  const id = await rentals.rent(key)
  const openSecrets = () => Promise.reject(new Error('The database was encrypted with another secret.'))
  const wrong = instanceLogOperations({ database, openSecrets, readLog: () => expect.unreachable() })
  await expect(wrong.lines(BigInt(id), 5)).rejects.toThrow('The database was encrypted with another secret.')
})

it('refuses an unknown instance, and a wrong number of lines', async () => {
  await expect(logs.lines(2_000_000_000n, 5)).rejects.toThrow('There is no instance 2000000000.')
  await expect(logs.lines(1n, 1_001)).rejects.toThrow('tail: must be from 1 to 1000, not 1001.')
})
