import { operationLimits } from '../limits/operation-limits.ts'

export type Tab = { query: string; variables?: string }

/**
 * The last tab. The page writes into its fields what the tabs have made: ids into a list, or a field for each id. It leaves
 * out fields for which there is nothing.
 */
export const cleanUpTab: Tab = {
  query: `# 14. Clean: ends what these tabs rented, and deletes
# what else they made, so that all can run again. What
# they make in this browser tab is filled in here. The
# disks of instances are deleted with them.
mutation Clean {
  instances: destroyInstances(
    input: { target: { ids: ["run Rent first", "run Best first"] } }
  ) {
    ... on DestroyInstancesSuccess {
      items { instanceId instance { status } error { code message } }
    }
    ... on Error { code message }
  }
  volume: deleteVolume(input: { id: "run Volume first" }) {
    ... on DeleteVolumeSuccess { deletedId }
    ... on Error { code message }
  }
  apiKey: deleteApiKey(input: { id: "run Keys first (API key)" }) {
    ... on DeleteApiKeySuccess { deletedId }
    ... on Error { code message }
  }
  template: deleteTemplate(input: { id: "run Template first" }) {
    ... on DeleteTemplateSuccess { deletedId }
    ... on Error { code message }
  }
  sshKey: deleteSshKey(input: { id: "run Keys first (SSH key)" }) {
    ... on DeleteSshKeySuccess { deletedId }
    ... on Error { code message }
  }
}
`,
}

/**
 * The operation of the tab, for ids by the text that stands for them: `{ 'run Volume first': ['vol_1', 'vol_2'] }`. What is
 * more than an operation may have comes when the answer to this one is there.
 */
export const listMadeScript = `
const listMade = (template, made) => {
  const maxMutations = ${operationLimits.mutations}
  const templates = template.match(/^  \\w+: [^]*?^  }\\n/gm)
  const fields = templates.flatMap(field => {
    const mine = [...field.matchAll(/"(run .*?)"/g)].flatMap(([, text]) => made[text] ?? [])
    if (field.includes('[')) return mine.length > 0 ? [field.replace(/\\[.*]/, JSON.stringify(mine))] : []
    return mine.map(id => field.replace(/\\w+/, id).replace(/"run .*?"/, JSON.stringify(id)))
  })
  if (fields.length === 0) return template
  const [head] = template.split(templates[0])
  const left = fields.length - maxMutations
  const note = left > 0 ? '  # ' + left + ' more will follow: then run this again.\\n' : ''
  return head + note + fields.slice(0, maxMutations).join('') + '}\\n'
}`
