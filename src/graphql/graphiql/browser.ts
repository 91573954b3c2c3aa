// Scripts that run in the browser around GraphiQL. They are part of the bundle, so the page needs no inline script.

/**
 * Runs before GraphiQL. The browser stores the tabs with their headers. After a restart on new data the key in those
 * headers is invalid, so the script clears the storage. It also stores the active tab as the last edited one; otherwise
 * GraphiQL adds an empty tab.
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
 * On a first visit GraphiQL moves a tab away from the pointer that presses it, so the click misses. This rule keeps the
 * tab in place. A dragged tab can still be dropped elsewhere, but does not follow the pointer.
 */
export const styles = '.graphiql-tab { transform: none !important }'
