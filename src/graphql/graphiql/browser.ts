// What runs in the browser around GraphiQL. It is part of the bundle, so a page needs no script of its own.

/**
 * Runs before GraphiQL. The browser keeps its tabs with their headers: after a new start on new data the key in them is
 * nobody's, so they go. And GraphiQL adds an empty tab unless what it worked on last is one of its tabs.
 */
export const setupScript = `
const berthPage = JSON.parse(document.getElementById('berth').textContent)
if (localStorage.getItem('berth') !== berthPage.publicId) localStorage.clear()
localStorage.setItem('berth', berthPage.publicId)
{
  const { tabs = [], activeTabIndex } = JSON.parse(localStorage.getItem('graphiql:tabState') ?? '{}')
  for (const part of ['query', 'variables', 'headers']) {
    if (tabs.length > 0) localStorage.setItem('graphiql:' + part, tabs[activeTabIndex]?.[part] ?? '')
  }
}
{
  const folder = new URL('.', document.currentScript.src)
  self.MonacoEnvironment = { globalAPI: false, getWorkerUrl: (_module, label) => new URL(label + '.js', folder).href }
}`

export const renderScript = `YogaGraphiQL.renderYogaGraphiQL(document.querySelector('#root'), berthPage.options)`

/**
 * On a first visit GraphiQL moves a tab from under the pointer that presses it, and the click goes beside. Tabs can still
 * be dragged to another place; they only do not follow the pointer there.
 */
export const styles = '.graphiql-tab { transform: none !important }'
