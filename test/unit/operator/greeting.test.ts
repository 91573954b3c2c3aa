import { describe, expect, it } from 'vitest'
import { greet } from '../../../src/greeting.ts'

const address = { address: '127.0.0.1', family: 'IPv4', port: 4000 }
const demoKey = 'berth_abcdefghijkl_secret'
const greeting = {
  version: '1.2.3',
  ...{ graphiql: true, isTerminal: true, demoKey, demoKeyFile: '/var/lib/berth/demo-key' },
  ...{ hasAccounts: true, sshProxy: null, hostKey: undefined, notebookProxy: null },
}
const lineOf = (text: string, label: string) =>
  text
    .split('\n')
    .find(line => line.trim().startsWith(`${label} `))
    ?.slice(12)

describe('the greeting', () => {
  it('names the version', () => {
    expect(greet(address, greeting)).toMatch(/^Berth 1\.2\.3 is ready\.\n/)
  })

  it('has on a terminal a link to GraphiQL with the demo key in its fragment', () => {
    const text = greet(address, greeting)
    expect(lineOf(text, 'GraphiQL')).toBe(`http://127.0.0.1:4000/graphql#key=${demoKey}`)
    expect(text.split(demoKey)).toHaveLength(2)
  })

  it('has no key in a log, but a command that prints the link', () => {
    const text = greet(address, { ...greeting, isTerminal: false })
    expect(text).not.toContain(demoKey)
    expect(lineOf(text, 'GraphiQL')).toBe(`echo "http://127.0.0.1:4000/graphql#key=$(cat '/var/lib/berth/demo-key')"`)
  })

  it('names the page of the REST interface as what it is', () => {
    expect(lineOf(greet(address, greeting), 'REST docs')).toBe('http://127.0.0.1:4000/api/v0/docs/')
  })

  it('names the file of the demo key, and no link if GraphiQL is off', () => {
    const text = greet(address, { ...greeting, graphiql: false })
    expect(text).not.toContain(demoKey)
    expect(lineOf(text, 'GraphiQL')).toBeUndefined()
    expect(lineOf(text, 'Demo key')).toBe('in /var/lib/berth/demo-key')
    expect(lineOf(text, 'Shell')).toBe(`KEY=$(cat '/var/lib/berth/demo-key')`)
  })

  it('names GraphiQL alone without a demo account', () => {
    const text = greet({ ...address, address: '::', family: 'IPv6' }, { ...greeting, demoKey: undefined })
    expect(lineOf(text, 'GraphiQL')).toBe('http://localhost:4000/graphql')
    expect(text).not.toMatch(/key/i)
  })

  it('says how to make the first account', () => {
    const text = greet(address, { ...greeting, demoKey: undefined, hasAccounts: false })
    expect(text).toMatch(/^ {12}npm run --silent berth -- account create --email \S+ --name \S+ --credit \d+$/m)
    expect(greet(address, greeting)).not.toContain('account create')
  })
})
