import { describe, expect, it } from 'vitest'
import {
  type NotebookProxy,
  notebookOrigin,
  parseNotebookHost,
  withNotebookToken,
} from '../../../src/domain/instances/notebook.ts'
import { notRunningRefusal } from '../../../src/domain/instances/states.ts'
import { launchModes } from '../../../src/domain/launch/launch.ts'

const proxy: NotebookProxy = { protocol: 'https', host: 'notebooks.example.com:8443' }

describe('the host name of a notebook', () => {
  it('names its instance, whatever the port', () => {
    expect(notebookOrigin(proxy, 42n)).toBe('https://ins-42.notebooks.example.com:8443')
    for (const host of ['ins-42.notebooks.example.com:8443', 'INS-42.notebooks.example.com.:1'])
      expect(parseNotebookHost(host, proxy)).toBe(42n)
  })

  it.each(['', '.', 'ins-42', 'ins-42.', 'ins-0.notebooks.example.com', 'ins-4x.notebooks.example.com'])(
    'is not "%s"',
    host => {
      expect(parseNotebookHost(host, proxy)).toBeUndefined()
    },
  )

  it('has no id that PostgreSQL has not', () => {
    const [last, next] = ['9223372036854775807', '9223372036854775808']
    expect(parseNotebookHost(`ins-${last}.notebooks.example.com`, proxy)).toBe(2n ** 63n - 1n)
    expect(parseNotebookHost(`ins-${next}.notebooks.example.com`, proxy)).toBeUndefined()
  })
})

describe('the environment of a container', () => {
  const of = (value: string) => [{ name: 'JUPYTER_TOKEN', value }]
  const other = { name: 'A', value: '1' }

  it.each(launchModes)('has a token in the modes with a notebook only: %s', mode => {
    const hasNotebook = mode.startsWith('jupyter')
    const made = { name: 'JUPYTER_TOKEN', value: 'made', secret: true }
    expect(withNotebookToken(mode, [other], 'made')).toEqual(hasNotebook ? [other, made] : [other])
  })

  it('has the token of the renter, unless that is empty', () => {
    const tokens = ['theirs', ''].map(value => withNotebookToken('jupyterProxy', of(value), 'made')[0]?.value)
    expect(tokens).toEqual(['theirs', 'made'])
  })
})

it.each([
  ['running', 'running', undefined],
  ['stopped', 'stopped', 'ins_7 is stopped. Start it first.'],
  ['stopped', 'running', 'ins_7 is starting. Try again when it runs.'],
  ['scheduling', 'running', 'ins_7 waits for its GPUs. Try again when it runs.'],
  ['exited', 'running', 'ins_7 has the status exited and never runs again. Destroy it, and rent another.'],
] as const)('an instance that is %s and shall be %s says what to do', (status, targetState, refusal) => {
  expect(notRunningRefusal({ id: 7n, status, targetState })).toBe(refusal)
})
