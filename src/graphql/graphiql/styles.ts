/**
 * On a first visit GraphiQL moves a tab away from the pointer that presses it, so the click misses. The first rule keeps the
 * tab in place. A dragged tab can still be dropped elsewhere, but does not follow the pointer. GraphiQL fills the window, so
 * it leaves room for the form. Tabs that do not fit beside one another go below one another: otherwise the last are hidden.
 */
const everywhere = `
.graphiql-tab { transform: none !important }
.graphiql-container .graphiql-session-header { height: auto; min-height: var(--session-header-height) }
.graphiql-container .graphiql-tabs { flex-wrap: wrap; row-gap: 4px }
#key { box-sizing: border-box; min-height: 48px; padding: 12px 16px; font: 14px/24px system-ui, sans-serif }
#key:not([hidden]) + #root .graphiql-container { height: calc(100vh - 48px) }`

/** GraphiQL puts all parts side by side. On a phone they go below one another, and the page scrolls. */
const onPhones = `
@media (max-width: 700px) {
  #key input { width: 100%; box-sizing: border-box; font-size: 16px }
  #root .graphiql-container { flex-direction: column; width: 100%; height: auto; min-height: 100vh; overflow: visible }
  .graphiql-container .graphiql-sidebar { flex-direction: row; width: auto }
  .graphiql-container .graphiql-main, .graphiql-container #graphiql-session { flex-direction: column }
  .graphiql-container .graphiql-sessions { margin: 0; max-height: none }
  .graphiql-container .graphiql-logo, .graphiql-container .graphiql-horizontal-drag-bar { display: none }
  .graphiql-container .graphiql-editors, .graphiql-container .graphiql-response { flex: none !important; height: 75vh }
  .graphiql-container .graphiql-plugin { max-height: 75vh; border-left: 0 }
}`

export const styles = everywhere + onPhones
