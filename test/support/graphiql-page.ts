import { runInNewContext } from 'node:vm'
import { cleanUpTab, type Tab } from '../../src/graphql/graphiql/clean-up.ts'
import { handedOn, handOnScript, titleOf } from '../../src/graphql/graphiql/hand-on.ts'
import { tabs } from '../../src/graphql/graphiql/tabs.ts'

/** The page of GraphiQL as its script that hands ids on sees it: one tab after another, in one browser tab. */
export function openGraphiqlPage(session: Record<string, string> = {}) {
  const texts = { 'operation.graphql': '', 'variables.json': '' }
  const answers: object[] = []
  let onSaved = () => {}
  const self: { fetch?: (url: string, request: { body: string }) => Promise<Response> } = {}
  const berthOptions: { handOn: object; onTabChange?: (state: object) => void } = {
    handOn: {
      handedOn,
      variablesByTitle: Object.fromEntries(tabs.map(tab => [titleOf(tab), tab.variables])),
      cleanUp: { title: titleOf(cleanUpTab), query: cleanUpTab.query },
    },
  }
  const models = Object.keys(texts).map(name => ({
    uri: { path: `/${name}` },
    getValue: () => texts[name as keyof typeof texts],
    setValue: (text: string) => Object.assign(texts, { [name]: text }),
  }))
  runInNewContext(handOnScript, {
    berthOptions,
    self,
    fetch: async () => Response.json(answers.shift()),
    sessionStorage: {
      getItem: (name: string) => session[name] ?? null,
      setItem(name: string, value: string) {
        session[name] = value
        onSaved()
      },
    },
    monaco: { editor: { getModels: () => models } },
  })
  return {
    session,
    operation: () => texts['operation.graphql'],
    variables: () => texts['variables.json'],
    show({ query, variables = '' }: Tab) {
      Object.assign(texts, { 'operation.graphql': query, 'variables.json': variables })
      berthOptions.onTabChange?.({ tabs: [{ title: titleOf({ query }) }], activeTabIndex: 0 })
    },
    /** The answer to the operation of this name. The script has read it when it saves what it knows. */
    async answer(operationName: string, data: unknown) {
      const { promise: saved, resolve } = Promise.withResolvers<void>()
      onSaved = resolve
      answers.push({ data })
      await self.fetch?.('/graphql', { body: JSON.stringify({ operationName }) })
      await saved
    },
  }
}
