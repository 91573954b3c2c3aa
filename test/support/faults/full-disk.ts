// Writes while the database's disk is full, and what came of them.

import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { post } from '../instances/renters.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { Site } from './site.ts'

const create = `mutation ($input: CreateTemplateInput!) { answer: createTemplate(input: $input) { __typename } }`
const refusal = { code: 'UNAVAILABLE', retry: 'LATER' }
/** The server rolled the write back. */
const refusedMessage = 'The database cannot do this now. Try again in a moment.'
/** The server may have crashed. */
const lostMessage = 'The database did not answer in time. Try again in a moment.'

let names = 0

/** Takes all space of the database's disk meanwhile, from the first write that was refused for it. */
export async function fillDisk(site: Site, random: SeededRandom, meanwhile: () => Promise<unknown>): Promise<void> {
  const written = { created: [] as string[], refused: [] as string[] }
  await site.server.withFullDisk(async () => {
    while (await writeMuch(site, random, written));
    await meanwhile()
  })
  const rows = await site.sql(`SELECT name FROM templates WHERE name LIKE 'large %'`)
  const found = rows.map(({ name }) => name)
  expect(found, 'writes that were acknowledged').toEqual(expect.arrayContaining(written.created))
  const made = written.refused.filter(name => found.includes(name))
  expect(made, 'writes that were refused, and made').toEqual([])
}

/** Returns whether the disk seems to have space: the write was neither refused nor lost. Any other error fails the suite. */
async function writeMuch(
  { accounts, fleet }: Site,
  random: SeededRandom,
  { created, refused }: { created: string[]; refused: string[] },
): Promise<boolean> {
  names += 1
  const name = `large ${names}`
  const input = { name, image: 'ubuntu', readme: randomBytes(36_000).toString('base64') }
  const url = await fleet.pickUrl(random)
  const answer = await post(url, accounts[0]?.apiKey ?? '', create, input).catch(() => undefined)
  if (!answer) return true
  const [error] = answer.errors ?? []
  if (error) expect(error.extensions).toMatchObject(refusal)
  else expect(answer.data.answer.__typename).toBe('CreateTemplateSuccess')
  if (!error) created.push(name)
  if (error?.message === refusedMessage) refused.push(name)
  return error?.message !== refusedMessage && error?.message !== lostMessage
}
