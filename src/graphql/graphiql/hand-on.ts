import type { Tab } from './tabs-more.ts'

/** The variables that stand for ids of answers: each text with the places in answers that have its id. */
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
 * Runs between GraphiQL's own script and its first rendering. It reads ids from each answer, and writes them into the
 * variables of the tab that is shown. It leaves variables alone that differ from what it wrote last: somebody edited them.
 */
export const handOnScript = `
{
  const { handedOn, variablesByTitle } = berthOptions.handOn
  const { ids, written } = JSON.parse(sessionStorage.getItem('berth:handed-on') ?? '{"ids":{},"written":{}}')
  const save = () => sessionStorage.setItem('berth:handed-on', JSON.stringify({ ids, written }))
  let shown
  const fill = () => {
    const model = monaco.editor.getModels().find(({ uri }) => uri.path.endsWith('variables.json'))
    const template = variablesByTitle[shown]
    if (!model || !template || model.getValue() !== (written[shown] ?? template)) return
    const filled = Object.entries(ids).reduce((text, [from, id]) => text.replaceAll('"' + from + '"', '"' + id + '"'), template)
    if (filled !== model.getValue()) model.setValue(filled)
    written[shown] = filled
    save()
  }
  const read = ({ data }) => {
    for (const [text, places] of Object.entries(handedOn))
      for (const place of places) {
        const id = place.split('.').reduce((value, name) => value?.[name], data)
        if (/^[a-z]+_\\d+$/.test(id)) ids[text] = id
      }
    save()
    fill()
  }
  berthOptions.onTabChange = ({ tabs, activeTabIndex }) => {
    shown = tabs[activeTabIndex].title
    fill()
  }
  const send = fetch
  self.fetch = async (...request) => {
    const response = await send(...request)
    if (response.headers.get('content-type')?.includes('json')) response.clone().json().then(read, () => {})
    return response
  }
}`
