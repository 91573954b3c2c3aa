import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const root = join(import.meta.dirname, '../../..')

/** British spellings. The project is written in American English. */
const british = [
  /\b\w*(?:author|real|recogn|organ|normal|serial|initial|summar|minim|maxim|optim|synchron|util|final|capital|general|special|emphas|apolog|categor|prior|priorit|visual|central|local|custom|standard|materi?al|anonym|finger)is(?:e|es|ed|ing|er|ers|ation|ations)\b/i,
  /\b\w*(?:behaviour|colour|favour|honour|labour|neighbour|flavour|rumour)\w*\b/i,
  /\b(?:cancelled|cancelling|labelled|labelling|travelled|modelled|modelling|signalled|signalling|fuelled|levelled|totalled|unlabelled)\b/i,
  /\b(?:catalogue|dialogue|analogue|centre|centres|metre|metres|litre|fibre|theatre|licence|defence|offence|grey|whilst|amongst|learnt|spelt|burnt|dreamt|cheque|programme|judgement|fulfil|instalment|skilful|jewellery|artefact|artefacts|towards|backwards|forwards(?= (?:and|or|in)\b))\b/i,
]
/** Texts of protocols, which must stay as they are. */
const protocolTexts = /Connection initialisation timeout|Too many initialisation requests/g

it('is American', () => {
  const files = String(
    execFileSync('git', ['ls-files', 'README.md', 'docs', 'src', 'prisma', 'test', 'schema.graphql'], { cwd: root }),
  )
    .split('\n')
    .filter(path => /\.(ts|md|graphql|prisma|sh)$/.test(path) && !/migrations|spelling\.test|generated/.test(path))
  expect(files.length).toBeGreaterThan(500)
  const found = files.flatMap(path =>
    readFileSync(join(root, path), 'utf8')
      .split('\n')
      .flatMap((line, index) => {
        const text = line.replace(protocolTexts, '')
        const word = british.map(pattern => pattern.exec(text)?.[0]).find(Boolean)
        return word ? [`${path}:${index + 1}: ${word}`] : []
      }),
  )
  expect(found).toEqual([])
})
