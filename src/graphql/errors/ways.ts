// Where the schema has a name that somebody looked for in the wrong place.

import { type GraphQLType, getNamedType, isInputObjectType, isInterfaceType, isObjectType } from 'graphql'
import { nearestNames } from '../../domain/nearest.ts'

/** A field, an input field or an argument. */
export type Member = { name: string; type: GraphQLType }
/** Members, each inside the one before. */
export type Way = readonly [Member, ...Member[]]

const maxLength = 4
const maxSuggestions = 3
/** Longer texts are like no name, and take long to compare. */
export const maxComparedLength = 60

export function membersOf(type: GraphQLType): Member[] {
  const named = getNamedType(type)
  const hasFields = isObjectType(named) || isInterfaceType(named) || isInputObjectType(named)
  return hasFields ? Object.values(named.getFields()) : []
}

/** What may have been meant by a name that is none of the members': those below them that have it, and those that are alike. */
export function waysMeantBy(name: string, members: readonly Member[]): Way[] {
  if (name.length > maxComparedLength) return []
  const synonyms = synonymsOf(name)
  const same = members.find(member => synonyms.includes(member.name))
  if (same) return [[same]]
  const names = nearestNames(
    name,
    members.map(member => member.name),
  )
  const alike = members.filter(member => names.includes(member.name)).map((member): Way => [member])
  return [...waysTo(name, members), ...alike].slice(0, maxSuggestions)
}

/** The shortest ways down to a name, beginning with one of the members. None if there are many: such a name says too little. */
export function waysTo(name: string, members: readonly Member[]): Way[] {
  const seen = new Set<GraphQLType>()
  let ways = members.map((member): Way => [member])
  for (let length = 1; length <= maxLength; length += 1) {
    const found = ways.filter(way => lastOf(way).name === name)
    if (found.length > 0) return found.length <= maxSuggestions ? found : []
    const unseen = ways.filter(way => !seen.has(getNamedType(lastOf(way).type)))
    for (const way of unseen) seen.add(getNamedType(lastOf(way).type))
    ways = unseen.flatMap(way => membersOf(lastOf(way).type).map((member): Way => [...way, member]))
  }
  return []
}

function lastOf(way: Way): Member {
  return way.at(-1) ?? way[0]
}

/** Verbs of which other services use one where this schema has another. */
const synonymousVerbs = [
  ['destroy', 'delete', 'terminate', 'remove', 'kill', 'cancel'],
  ['reboot', 'restart'],
  ['rent', 'create', 'launch', 'deploy'],
  ['execute', 'exec', 'run'],
]

/** The name with other verbs for its own: `destroyInstance` for `deleteInstance`. */
function synonymsOf(name: string): string[] {
  const [verb = ''] = /^[a-z]+/.exec(name) ?? []
  const rest = name.slice(verb.length)
  return synonymousVerbs.filter(verbs => verbs.includes(verb)).flatMap(verbs => verbs.map(other => other + rest))
}
