import { listMadeScript, type Tab } from './clean-up.ts'

/**
 * The texts that stand for ids of answers, each with the places in answers that have its id. What the tab of a text makes is
 * at the first place. The others have what was there before.
 */
export const handedOn: Record<string, string[]> = {
  'run Find first': ['offers.nodes.0.id'],
  'run Keys first (SSH key)': ['createSshKey.sshKey.id', 'createSshKey.id'],
  'run Keys first (API key)': ['createApiKey.apiKey.id'],
  'run Rent first': ['rentInstance.instance.id'],
  'run Template first': ['createTemplate.template.id', 'createTemplate.id'],
  'run Best first': ['rentBestOffer.instance.id'],
  'run Storage first': ['volumeOffers.nodes.0.id'],
  'run Volume first': ['createVolume.volume.id'],
}

/** A tab's operation has its name, which GraphiQL shows as its title. */
export function titleOf({ query }: Tab): string {
  return /^(?:query|mutation|subscription) (\w+)/m.exec(query)?.[1] ?? ''
}

/**
 * Runs between GraphiQL's own script and its first rendering. It reads ids from each answer, and writes them into the tab
 * that is shown: the newest of each text into the variables, and all that the tabs have made into the operation of the tab
 * that removes it. It leaves alone what it never wrote there: somebody edited it. An older text of its own comes back when the tab is
 * left before GraphiQL has kept the newest.
 */
export const handOnScript = `
{
  const { handedOn, variablesByTitle, cleanUp } = berthOptions.handOn
  const kept = JSON.parse(sessionStorage.getItem('berth:handed-on'))
  const { ids, made, texts } = { ids: {}, made: {}, texts: {}, ...kept }
  let shown
  const write = (part, template, text) => {
    const model = monaco.editor.getModels().find(({ uri }) => uri.path.endsWith(part))
    const place = part + ' of ' + shown
    const own = texts[place] ?? []
    if (!model || !template || ![template, ...own].includes(model.getValue())) return
    if (text !== model.getValue()) model.setValue(text)
    texts[place] = [...own.filter(one => one !== text), text].slice(-20)
  }
  ${listMadeScript}
  const fill = () => {
    const variables = variablesByTitle[shown] ?? ''
    const filled = Object.entries(ids).reduce((text, [from, id]) => text.replaceAll('"' + from + '"', '"' + id + '"'), variables)
    write('variables.json', variables, filled)
    if (shown === cleanUp.title) write('operation.graphql', cleanUp.query, listMade(cleanUp.query, made))
    sessionStorage.setItem('berth:handed-on', JSON.stringify({ ids, made, texts }))
  }
  const read = (operation, { data }) => {
    for (const [text, places] of Object.entries(handedOn))
      for (const place of places) {
        const id = place.split('.').reduce((value, name) => value?.[name], data)
        if (!/^[a-z]+_\\d+$/.test(id)) continue
        ids[text] = id
        made[text] ??= []
        if (place === places[0] && text.startsWith('run ' + operation + ' ') && !made[text].includes(id)) made[text].push(id)
      }
    const answers = Object.values(data ?? {}).flatMap(answer => [answer, ...(answer?.items ?? [])])
    const gone = answers.map(one => (one?.instance?.status === 'DESTROYED' ? (one.instanceId ?? one.instance.id) : one?.deletedId))
    for (const text in made) made[text] = made[text].filter(id => !gone.includes(id))
    fill()
  }
  berthOptions.onTabChange = ({ tabs, activeTabIndex }) => {
    shown = tabs[activeTabIndex].title
    fill()
  }
  const send = fetch
  self.fetch = async (url, request) => {
    const response = await send(url, request)
    if (response.headers.get('content-type')?.includes('json'))
      response.clone().json().then(answer => read(JSON.parse(request.body).operationName, answer)).catch(() => {})
    return response
  }
}`
