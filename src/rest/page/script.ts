import { createHash } from 'node:crypto'
import { sampleAddress } from './sample-values.ts'

/**
 * Writes the address at which the browser sees the gateway into the examples, and searches the page. Without it the page has
 * contents and anchors.
 */
export const pageScript = `
for (const example of document.querySelectorAll('pre'))
  example.textContent = example.textContent.replaceAll('${sampleAddress}', location.origin)
const search = document.querySelector('#search')
const field = search.querySelector('input')
const entries = [...document.querySelectorAll('nav a')]
const parts = [...document.querySelectorAll('main section')].map(section => ({
  section,
  entry: entries.find(({ hash }) => hash === '#' + section.id)?.closest('li'),
  text: section.textContent.toLowerCase(),
}))
const find = () => {
  const words = field.value.toLowerCase().split(/\\s+/)
  let found = 0
  for (const { section, entry, text } of parts) {
    const isHit = words.every(word => text.includes(word))
    section.hidden = !isHit
    if (entry) {
      entry.hidden = !isHit
      found += isHit
    }
  }
  for (const group of document.querySelectorAll('main > div, nav details'))
    group.hidden = !group.querySelector('section:not([hidden]), nav li:not([hidden])')
  search.querySelector('output').textContent = field.value.trim() && found + (found === 1 ? ' route' : ' routes')
}
field.addEventListener('input', find)
addEventListener('keydown', event => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.target === field) return
  event.preventDefault()
  field.focus()
})
addEventListener('hashchange', () => {
  if (!document.querySelector(':target')?.closest('[hidden]')) return
  field.value = ''
  find()
  document.querySelector(':target').scrollIntoView()
})
search.hidden = false
find()
`

/** What a content security policy names it by. */
export const pageScriptHash = `sha256-${createHash('sha256').update(pageScript).digest('base64')}`
