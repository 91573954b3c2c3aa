import { html } from './markup.ts'

/** Colors are the browser's own, light or dark. Below 700 pixels, tables and the contents stand in one column. */
export const style = html`
:root { color-scheme: light dark; scroll-padding-top: 5rem }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; padding: 0 1rem 4rem; max-width: 80rem }
code, pre { font: .9em/1.45 ui-monospace, monospace; overflow-wrap: anywhere }
pre { background: #8881; border-radius: .4rem; padding: .6rem .8rem; margin: .3rem 0; overflow: auto; max-height: 22rem; white-space: pre-wrap }
[hidden] { display: none !important }
.skip { position: absolute; left: -99rem } .skip:focus { left: 1rem }
#search { position: sticky; top: 0; background: Canvas; padding: .6rem 0; z-index: 1 }
#search input { font: inherit; width: min(24rem, 70%); padding: .3rem .6rem }
.columns { display: grid; grid-template-columns: 21rem minmax(0, 1fr); gap: 2rem }
nav { font-size: .85rem; position: sticky; top: 4rem; align-self: start; max-height: calc(100vh - 5rem); overflow: auto }
nav ul { list-style: none; padding: 0 0 0 .8rem; margin: 0 } nav li { margin: .2rem 0 } nav li code { display: block }
summary { cursor: pointer; font-weight: bold; padding: .2rem 0 }
section { border-top: 1px solid #8886; margin-top: 2rem } .route code { font-size: 1.05em; font-weight: bold }
.refused { border-left: .3rem solid #c60; padding-left: .8rem } .status { border: 1px solid; border-radius: .3rem; padding: 0 .3rem; font-size: .8em }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; vertical-align: top; padding: .2rem .6rem .2rem 0 }
tr { border-bottom: 1px solid #8883 } th { font-weight: normal } td { overflow-wrap: anywhere }
h4 { margin: 1rem 0 .2rem }
@media (max-width: 700px) {
  .columns { display: block } nav { position: static; max-height: none; font-size: 1rem } nav a { display: block; padding: .3rem 0 }
  table, tbody, tr, th, td { display: block } td { padding: 0 } tr { padding: .3rem 0 } td table { padding-left: .8rem }
}`
