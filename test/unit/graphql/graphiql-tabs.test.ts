import { parse, validate } from 'graphql'
import { describe, expect, it } from 'vitest'
import type { Tab } from '../../../src/graphql/graphiql/clean-up.ts'
import { handedOn, titleOf } from '../../../src/graphql/graphiql/hand-on.ts'
import { tabs } from '../../../src/graphql/graphiql/tabs.ts'
import { schema } from '../../../src/graphql/schema.ts'
import { openGraphiqlPage } from '../../support/graphiql-page.ts'

describe('the tabs of GraphiQL', () => {
  it.each(tabs.map((tab, index) => [titleOf(tab), index + 1, tab] as const))(
    'have a valid operation with its number and name: %s',
    (title, number, { query }) => {
      expect(validate(schema, parse(query))).toEqual([])
      expect(query.startsWith(`# ${number}. ${title}: `)).toBe(true)
    },
  )

  it('leave no id to be found: each comes from an answer of a tab before', () => {
    const named = tabs.flatMap(({ query, variables = '' }, index) =>
      [...(query + variables).matchAll(/"(run (\w+) first[^"]*)"/g)].map(([, text, title]) => ({ text, title, index })),
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

const tabOf = (title: string, changes: Partial<Tab> = {}) =>
  ({ ...tabs.find(tab => titleOf(tab) === title), ...changes }) as Tab
const rented = (id: string) => ({ rentInstance: { instance: { id } } })

describe('the script that hands ids on', () => {
  const findsOffer = (id: string) => ({ offers: { nodes: [{ id }, { id: 'off_99' }] } })

  it('fills the variables of the next tab, and again after the next answer', async () => {
    const page = openGraphiqlPage()
    page.show(tabOf('Find'))
    await page.answer('Find', findsOffer('off_7'))
    page.show(tabOf('Rent'))
    expect(page.variables()).toBe('{ "offer": "off_7" }')
    await page.answer('Find', findsOffer('off_8'))
    expect(page.variables()).toBe('{ "offer": "off_8" }')
  })

  it('goes on after a reload', async () => {
    const page = openGraphiqlPage()
    await page.answer('Find', findsOffer('off_7'))
    page.show(tabOf('Rent'))
    const variables = page.variables()
    page.show(tabOf('Find'))
    await page.answer('Find', findsOffer('off_8'))
    const again = openGraphiqlPage(page.session)
    again.show(tabOf('Rent', { variables }))
    expect(again.variables()).toBe('{ "offer": "off_8" }')
  })

  it('leaves variables alone that somebody edited, and those of a tab of the visitor', async () => {
    const page = openGraphiqlPage()
    const edited = tabOf('Rent', { variables: '{ "offer": "off_1" }' })
    for (const tab of [edited, { query: 'query Mine { x }', variables: '{ "offer": "run Find first" }' }]) {
      page.show(tab)
      await page.answer('Find', findsOffer('off_7'))
      expect(page.variables()).toBe(tab.variables)
    }
  })

  it('takes nothing from an answer without the id, or with another text in its place', async () => {
    const page = openGraphiqlPage()
    page.show(tabOf('Rent'))
    for (const data of [null, {}, { offers: null }, { offers: { nodes: [] } }, findsOffer('"'), findsOffer('off_x')])
      await page.answer('Find', data)
    expect(page.variables()).toBe('{ "offer": "run Find first" }')
  })
})

describe('the script that lists what to remove', () => {
  const clean = tabOf('Clean')
  const namesOf = (operation: string) => [...operation.matchAll(/"([a-z]+_\d+)"/g)].map(([, id]) => id)
  const ended = (...ids: string[]) => ({
    instances: { items: ids.map(instanceId => ({ instanceId, instance: { status: 'DESTROYED' } })) },
  })
  const madeVolume = (id: string) => ({ createVolume: { volume: { id } } })

  it('names all that the tabs made, however often they ran, and nothing else', async () => {
    const page = openGraphiqlPage()
    for (const id of ['ins_1', 'ins_2', 'ins_2']) await page.answer('Rent', rented(id))
    await page.answer('Best', { rentBestOffer: { instance: { id: 'ins_3' } } })
    for (const id of ['vol_1', 'vol_2']) await page.answer('Volume', madeVolume(id))
    page.show(clean)
    expect(validate(schema, parse(page.operation()))).toEqual([])
    expect(namesOf(page.operation())).toEqual(['ins_1', 'ins_2', 'ins_3', 'vol_1', 'vol_2'])
    expect(page.operation()).not.toMatch(/run \w+ first/)
  })

  it('spares what the visitor rented in a tab of their own, and the SSH key that they had before', async () => {
    const page = openGraphiqlPage()
    await page.answer('Mine', rented('ins_1'))
    await page.answer('Keys', { createSshKey: { code: 'CONFLICT', id: 'ssh_1' } })
    page.show(clean)
    expect(page.operation()).toBe(clean.query)
  })

  it('names what is left after each answer, also after a reload', async () => {
    const page = openGraphiqlPage()
    for (const id of ['ins_1', 'ins_2', 'ins_3']) await page.answer('Rent', rented(id))
    await page.answer('Template', { createTemplate: { template: { id: 'tpl_1' } } })
    page.show(clean)
    const query = page.operation()
    const again = openGraphiqlPage(page.session)
    again.show({ query })
    const failed = { instanceId: 'ins_2', instance: { status: 'RUNNING' }, error: { code: 'UNAVAILABLE' } }
    const { instances } = ended('ins_1')
    await again.answer('Clean', { instances: { items: [...instances.items, failed] }, tpl_1: { deletedId: 'tpl_1' } })
    expect(namesOf(again.operation())).toEqual(['ins_2', 'ins_3'])
    await again.answer('Mine', { destroyInstance: { instance: { id: 'ins_2', status: 'DESTROYED' } } })
    await again.answer('Clean', ended('ins_3'))
    expect(again.operation()).toBe(clean.query)
  })

  it('has no more mutations than an operation may have, and says how many follow', async () => {
    const page = openGraphiqlPage()
    await page.answer('Rent', rented('ins_1'))
    const volumes = ['vol_1', 'vol_2', 'vol_3', 'vol_4', 'vol_5', 'vol_6']
    for (const id of volumes) await page.answer('Volume', madeVolume(id))
    page.show(clean)
    expect(namesOf(page.operation())).toEqual(['ins_1', ...volumes.slice(0, 4)])
    expect(page.operation()).toContain('# 2 more will follow: then run this again.')
    await page.answer('Clean', { ...ended('ins_1'), ...Object.fromEntries(volumes.slice(0, 4).map(deleted)) })
    expect(namesOf(page.operation())).toEqual(['vol_5', 'vol_6'])
    expect(page.operation()).not.toContain('more will follow')
  })

  it('leaves the tab alone when somebody edited it', async () => {
    const page = openGraphiqlPage()
    page.show({ query: `${clean.query}# Mine\n` })
    await page.answer('Rent', rented('ins_1'))
    expect(page.operation()).toBe(`${clean.query}# Mine\n`)
  })
})

const deleted = (id: string) => [id, { deletedId: id }]
