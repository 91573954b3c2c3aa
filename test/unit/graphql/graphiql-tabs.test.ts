import { runInNewContext } from 'node:vm'
import { parse, validate } from 'graphql'
import { describe, expect, it } from 'vitest'
import { handedOn, handOnScript, titleOf } from '../../../src/graphql/graphiql/hand-on.ts'
import { tabs } from '../../../src/graphql/graphiql/tabs.ts'
import { schema } from '../../../src/graphql/schema.ts'

describe('the tabs of GraphiQL', () => {
  it.each(tabs.map((tab, index) => [titleOf(tab), index + 1, tab] as const))(
    'have a valid operation with its number and name: %s',
    (title, number, { query }) => {
      expect(validate(schema, parse(query))).toEqual([])
      expect(query.startsWith(`# ${number}. ${title}: `)).toBe(true)
    },
  )

  it('leave no id to be found: each comes from an answer of a tab before', () => {
    const named = tabs.flatMap(({ variables = '' }, index) =>
      [...variables.matchAll(/"(run (\w+) first[^"]*)"/g)].map(([, text, title]) => ({ text, title, index })),
    )
    expect(new Set(named.map(({ text }) => text))).toEqual(new Set(Object.keys(handedOn)))
    for (const { title, index } of named) expect(tabs.slice(0, index).map(titleOf)).toContain(title)
    expect(JSON.stringify(tabs.map(({ variables }) => variables))).not.toMatch(/(off|ins|vof|vol|tpl|key|ssh)_\d/)
  })

  it('rent nothing that needs a proxy', () => {
    for (const { query } of tabs)
      for (const [mode] of query.matchAll(/(ssh|jupyter): \{[^}]*\}/g)) expect(mode).toContain('direct: true')
  })
})

describe('the script that hands ids on', () => {
  const variables = '{ "offer": "run Find first" }'

  /** A page that shows one tab after another. */
  function openPage(session: Record<string, string> = {}) {
    let text = ''
    const answers: object[] = []
    const self: { fetch?: () => Promise<Response> } = {}
    const berthOptions: { handOn: object; onTabChange?: (state: object) => void } = {
      handOn: { handedOn, variablesByTitle: { Rent: variables } },
    }
    runInNewContext(handOnScript, {
      berthOptions,
      self,
      fetch: async () => Response.json(answers.shift()),
      sessionStorage: {
        getItem: (name: string) => session[name] ?? null,
        setItem: (name: string, value: string) => Object.assign(session, { [name]: value }),
      },
      monaco: {
        editor: {
          getModels: () => [
            { uri: { path: '/operation.graphql' } },
            {
              uri: { path: '/variables.json' },
              getValue: () => text,
              setValue: (value: string) => {
                text = value
              },
            },
          ],
        },
      },
    })
    return {
      session,
      variables: () => text,
      show(title: string, value: string) {
        text = value
        berthOptions.onTabChange?.({ tabs: [{ title }], activeTabIndex: 0 })
      },
      async answer(data: object) {
        answers.push({ data })
        await self.fetch?.()
        await new Promise(setImmediate)
      },
    }
  }
  const findsOffer = (id: string) => ({ offers: { nodes: [{ id }, { id: 'off_99' }] } })

  it('fills the variables of the next tab, and again after the next answer', async () => {
    const page = openPage()
    page.show('Find', '')
    await page.answer(findsOffer('off_7'))
    page.show('Rent', variables)
    expect(page.variables()).toBe('{ "offer": "off_7" }')
    await page.answer(findsOffer('off_8'))
    expect(page.variables()).toBe('{ "offer": "off_8" }')
  })

  it('goes on after a reload', async () => {
    const page = openPage()
    await page.answer(findsOffer('off_7'))
    page.show('Rent', variables)
    const filled = page.variables()
    page.show('Find', '')
    await page.answer(findsOffer('off_8'))
    const again = openPage(page.session)
    again.show('Rent', filled)
    expect(again.variables()).toBe('{ "offer": "off_8" }')
  })

  it.each([
    ['that somebody edited', 'Rent', '{ "offer": "off_1" }'],
    ['of a tab of the visitor', 'Mine', variables],
  ])('leaves variables alone %s', async (_name, title, edited) => {
    const page = openPage()
    page.show(title, edited)
    await page.answer(findsOffer('off_7'))
    expect(page.variables()).toBe(edited)
  })

  it('takes nothing from an answer without the id, or with another text in its place', async () => {
    const page = openPage()
    page.show('Rent', variables)
    for (const data of [{}, { offers: null }, { offers: { nodes: [] } }, findsOffer('"'), findsOffer('off_x')])
      await page.answer(data)
    expect(page.variables()).toBe(variables)
  })
})
