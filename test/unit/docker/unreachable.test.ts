import { expect, it } from 'vitest'
import { explainUnreachable, inspectWithReason } from '../../../src/providers/docker/inspection/unreachable.ts'
import { MachineUnreachable } from '../../../src/providers/provider.ts'

it('says why the engine of an operator does not answer, and what to do', async () => {
  await expect(inspectWithReason({ url: 'unix:///nowhere/docker.sock', tls: null })).rejects.toThrow(
    'unix:///nowhere/docker.sock does not answer (ENOENT). Start Docker, and run this as a user that may open its socket.',
  )
})

it.each([
  [new MachineUnreachable('No.', { cause: Object.assign(new Error(), { code: 'ECONNREFUSED' }) }), 'ECONNREFUSED'],
  [new MachineUnreachable('No.', { cause: new DOMException('', 'AbortError') }), 'no answer in time'],
  [new DOMException('', 'TimeoutError'), 'no answer in time'],
  [new MachineUnreachable('It says too much.'), 'It says too much.'],
])('has the reason of %s', (error, reason) => {
  expect(explainUnreachable('tcp://a:2376', error, 'Look.')).toMatchObject({
    message: `tcp://a:2376 does not answer (${reason}). Look.`,
    cause: error,
  })
})

it('leaves other errors as they are', () => {
  const error = new Error('The engine is too old.')
  expect(explainUnreachable('tcp://a:2376', error, 'Look.')).toBe(error)
})
