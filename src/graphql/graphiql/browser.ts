// Scripts that run in the browser around GraphiQL. They are part of the bundle, so the page needs no inline script.

import { keyPlaceholder } from './key-form.ts'

/**
 * Runs before GraphiQL. The key comes in the link's fragment, which no browser sends, or from the form. It stays in the
 * storage of this browser tab, as do GraphiQL's own tabs with their headers, where another key replaces it. Anybody can make
 * a link with a key of their own account, so that of a link replaces another one only if the visitor agrees. The script also
 * stores the active tab as the last edited one; otherwise GraphiQL adds an empty tab.
 */
export const setupScript = `
if (location.hash.startsWith('#key=')) {
  const key = location.hash.slice('#key='.length)
  const stored = sessionStorage.getItem('berth:key') ?? key
  history.replaceState(null, '', location.pathname + location.search)
  const question = 'This link has another API key, maybe of another account. Use it in this tab from now on?'
  if (/^berth_\\w+$/.test(key) && (stored === key || confirm(question))) sessionStorage.setItem('berth:key', key)
}
addEventListener('hashchange', () => location.hash.startsWith('#key=') && location.reload())
// Earlier versions kept the key there. Other pages of this origin may keep what is theirs.
for (const name of Object.keys(localStorage))
  if (name === 'berth' || name.startsWith('graphiql:')) localStorage.removeItem(name)
const berthOptions = JSON.parse(document.getElementById('berth').textContent)
const berthKey = sessionStorage.getItem('berth:key')
{
  const bearer = 'Bearer ' + (berthKey ?? '${keyPlaceholder}')
  const before = sessionStorage.getItem('berth:bearer') ?? bearer
  const state = (sessionStorage.getItem('graphiql:tabState') ?? '{}').replaceAll(before, bearer)
  sessionStorage.setItem('berth:bearer', bearer)
  const { tabs = [], activeTabIndex } = JSON.parse(state)
  if (tabs.length > 0) {
    sessionStorage.setItem('graphiql:tabState', state)
    for (const part of ['query', 'variables', 'headers'])
      sessionStorage.setItem('graphiql:' + part, tabs[activeTabIndex]?.[part] ?? '')
  }
  berthOptions.storage = sessionStorage
  berthOptions.defaultHeaders = JSON.stringify({ Authorization: bearer }, null, 2)
  for (const tab of berthOptions.defaultTabs) tab.headers = berthOptions.defaultHeaders
}
{
  const folder = new URL('.', document.currentScript.src)
  self.MonacoEnvironment = { globalAPI: true, getWorkerUrl: (_module, label) => new URL(label + '.js', folder).href }
}`

export const renderScript = `
YogaGraphiQL.renderYogaGraphiQL(document.querySelector('#root'), berthOptions)`
