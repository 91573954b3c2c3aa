// The conventions of the schema: the style guide of docs/schema.md as tests. A new type or field keeps them, or the test of
// the convention names it as an exception and says why.

import {
  type GraphQLArgument,
  type GraphQLNamedType,
  type GraphQLType,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isListType,
  isNonNullType,
  isObjectType,
  isScalarType,
  isSpecifiedScalarType,
  isUnionType,
} from 'graphql'
import { describe, expect, it } from 'vitest'
import { schema } from '../../../src/graphql/schema.ts'

const types = Object.values(schema.getTypeMap()).filter(
  type => !isIntrospectionType(type) && !isSpecifiedScalarType(type),
)
const roots = ['Query', 'Mutation', 'Subscription'] as const
const objects = types.filter(type => isObjectType(type) || isInterfaceType(type))
const inputs = types.filter(isInputObjectType)
const enums = types.filter(isEnumType)

/** A field, an argument, a type or an enum value, and where it is. */
type Place = { place: string; description: string | null | undefined }
type Value = Place & { name: string; type: GraphQLType; defaultValue?: unknown }

const fieldsOf = (type: GraphQLNamedType): (Value & { args: Value[] })[] =>
  !('getFields' in type)
    ? []
    : Object.values(type.getFields()).map(field => {
        const place = `${type.name}.${field.name}`
        const args: readonly GraphQLArgument[] = 'args' in field ? field.args : []
        return { ...field, place, args: args.map(arg => ({ ...arg, place: `${place}(${arg.name})` })) }
      })

/** Every field of an object, except of the root types. */
const fields = objects.filter(({ name }) => !roots.some(root => root === name)).flatMap(fieldsOf)
const inputFields = inputs.flatMap(fieldsOf)
const args = objects.flatMap(fieldsOf).flatMap(field => field.args)
const rootFields = (name: (typeof roots)[number]) => fieldsOf(schema.getType(name) as GraphQLNamedType)

const capitalize = (name: string) => `${name[0]?.toUpperCase()}${name.slice(1)}`
const constantCase = (name: string) => name.replaceAll(/[A-Z]/g, letter => `_${letter}`).toUpperCase()
const typeNameOf = ({ type }: Value) => getNamedType(type as GraphQLNamedType).name
const isOptional = ({ type, defaultValue }: Value) => !isNonNullType(type) || defaultValue !== undefined

/** The places that break a convention. There must be places that could. */
function breaking<P extends Place>(places: P[], keeps: (place: P) => boolean): string[] {
  expect(places.length).toBeGreaterThan(0)
  return places.filter(place => !keeps(place)).map(({ place }) => place)
}

describe('a mutation', () => {
  const mutations = rootFields('Mutation')
  const verbs = [
    ...['create', 'update', 'delete', 'rotate', 'attach', 'detach'],
    ...['rent', 'start', 'stop', 'reboot', 'recycle', 'destroy', 'execute', 'test'],
  ]
  const successOf = ({ name }: Value) => schema.getType(`${capitalize(name)}Success`) as GraphQLNamedType
  const namesOf = (type: GraphQLNamedType) => fieldsOf(type).map(({ name }) => name)

  it.each(mutations)('$name begins with a verb of the vocabulary', ({ name }) => {
    expect(verbs).toContain(/^[a-z]+/.exec(name)?.[0])
  })

  it.each(mutations)('$name takes one input of its own', mutation => {
    expect(mutation.args.map(({ name, type }) => `${name}: ${type}`)).toEqual([
      `input: ${capitalize(mutation.name)}Input!`,
    ])
  })

  it.each(mutations)('$name answers with a success of its own or with errors', mutation => {
    const union = getNamedType(mutation.type as GraphQLNamedType)
    expect(union.name).toBe(`${capitalize(mutation.name)}Result`)
    const members = isUnionType(union) ? union.getTypes() : []
    const others = members.filter(member => !member.getInterfaces().some(({ name }) => name === 'Error'))
    expect(others).toEqual([successOf(mutation)])
  })

  it('names what it is about `id`, or selects it by `target` or `name`', () => {
    const changes = mutations.filter(({ name }) => !/^(create|rent)/.test(name))
    const about = ['id', 'target', 'name', 'names', 'variables']
    const ownIds = changes.map(({ name, args: [input], ...rest }) => {
      return { ...rest, name, names: namesOf(getNamedType(input?.type as GraphQLNamedType)) }
    })
    expect(breaking(ownIds, ({ names }) => about.some(name => names.includes(name)))).toEqual([])
  })

  it('that deletes says what is deleted', () => {
    const deletions = mutations.filter(({ name }) => name.startsWith('delete'))
    expect(breaking(deletions, one => namesOf(successOf(one)).some(name => name.startsWith('deleted')))).toEqual([])
  })

  it('that creates or rents takes an idempotencyKey and says whether it was replayed', () => {
    const creations = mutations.filter(({ name }) => /^(create|rent|rotate|reboot|recycle)/.test(name))
    const hasBoth = (one: Value & { args: Value[] }) =>
      namesOf(getNamedType(one.args[0]?.type as GraphQLNamedType)).includes('idempotencyKey') &&
      namesOf(successOf(one)).includes('replayed')
    expect(breaking(creations, hasBoth)).toEqual([])
  })

  it('has no Payload and no success that another mutation has, too', () => {
    const successes = objects.filter(({ name }) => name.endsWith('Success')).map(({ name }) => name)
    expect(successes.toSorted()).toEqual(mutations.map(({ name }) => `${capitalize(name)}Success`).toSorted())
    expect(types.filter(({ name }) => name.endsWith('Payload'))).toEqual([])
  })
})

describe('a name', () => {
  const all = [...fields, ...inputFields, ...args]
  const named = (...names: string[]) => all.filter(value => names.includes(typeNameOf(value)))
  const comparisons = /^(eq|neq|gt|gte|lt|lte|in|nin)$/

  it('says kind, never type', () => {
    expect(breaking(all, ({ name }) => !/^types?$|[a-z]Types?$/.test(name))).toEqual([])
  })

  it('of money per time ends in PerHour', () => {
    const totals = /^(amount|balanceAfter|credit|available|needed|used|cost|accruedCost|stopAtCost)$/
    const rates = /Per(Hour|GpuHour|Gb|GbMonth|HourWhenStopped)$/
    const keeps = ({ name }: Value) => rates.test(name) || totals.test(name) || comparisons.test(name)
    expect(breaking(named('Usd', 'UsdFilter'), keeps)).toEqual([])
  })

  it('of a rate spells bytes, and has Mbps for bits', () => {
    expect(breaking(all, ({ name }) => !/[GKT]bps$/.test(name))).toEqual([])
    const bits = all.flatMap(({ name }) => (/Mbps$/.test(name) ? [name] : []))
    expect([...new Set(bits)].toSorted()).toEqual(['downloadMbps', 'uploadMbps'])
  })

  it('of a size or a length has its unit', () => {
    const measures = /(disk|ram|size|memory|duration|timeout|interval|age)$/i
    const numbers = named('Int', 'Float', 'IntFilter', 'FloatFilter')
    expect(breaking(numbers, ({ name }) => !measures.test(name))).toEqual([])
  })

  it('of an instant ends in At, Until or After', () => {
    const instants = named('DateTime', 'DateTimeFilter')
    expect(breaking(instants, ({ name }) => /(At|Until|After)$|^asOf$/.test(name) || comparisons.test(name))).toEqual(
      [],
    )
  })

  it('of a period is startsAt and endsAt', () => {
    expect(breaking(all, ({ name }) => !/^(start|end|from|to|since|until|period\w+)$/.test(name))).toEqual([])
  })

  it('of an ID is id or ends in Id', () => {
    const keeps = ({ name }: Value) => /^ids?$|Ids?$/.test(name) || comparisons.test(name)
    expect(breaking(named('ID', 'IdFilter'), keeps)).toEqual([])
  })

  it('of an error ends in Error', () => {
    const wrong = objects.filter(
      type => 'getInterfaces' in type && type.getInterfaces().some(one => one.name === 'Error'),
    )
    expect(wrong.length).toBeGreaterThan(5)
    expect(wrong.filter(({ name }) => !name.endsWith('Error'))).toEqual([])
  })

  /** An offer has one model of GPU, one machine and one price, so their fields keep their names, but for the names of other things. */
  const transparent = ['gpu', 'machine', 'price']
  /** Names of the fields of a type and of what it has: `gpuRamMb`, and `gpuVendor` for `vendor` of `gpu`. */
  function paths(name: string, depth = 2): string[] {
    return fieldsOf(schema.getType(name) as GraphQLNamedType).flatMap(field => {
      const inner = schema.getType(typeNameOf(field))
      const below = depth > 0 && isObjectType(inner) ? paths(inner.name, depth - 1) : []
      const own = transparent.includes(field.name) ? below.filter(path => !/^(id|name|kind|status)$/.test(path)) : []
      return [field.name, ...own, ...below.map(path => `${field.name}${capitalize(path)}`)]
    })
  }
  const filtered: [filter: string, type: string, others: string[]][] = [
    // `or` combines conditions. Availability and what is left of the rental are relative to the moment of the search.
    ['OfferFilter', 'Offer', ['or', 'availability', 'availableSeconds', 'verified']],
    ['VolumeOfferFilter', 'VolumeOffer', ['verified']],
    ['InstanceFilter', 'Instance', []],
    ['TemplateFilter', 'Template', []],
    ['EventFilter', 'Event', []],
    ['LedgerFilter', 'LedgerEntry', []],
  ]
  it.each(filtered)('in %s is that of a field of %s', (filter, type, others) => {
    const names = [...paths(type), ...others]
    const conditions = fieldsOf(schema.getType(filter) as GraphQLNamedType)
    expect(breaking(conditions, ({ name }) => names.includes(name) || names.includes(name.replace(/s$/, '')))).toEqual(
      [],
    )
  })

  it.each([
    ['OfferOrderField', 'Offer'],
    ['OfferFacetField', 'Offer'],
    ['InstanceOrderField', 'Instance'],
    ['VolumeOfferOrderField', 'VolumeOffer'],
  ])('in %s is that of a field of %s', (order, type) => {
    const names = paths(type).map(constantCase)
    const values = (schema.getType(order) as (typeof enums)[number]).getValues().map(({ name }) => name)
    expect(values.filter(name => !names.includes(name))).toEqual([])
  })
})

describe('null', () => {
  const lists = [...fields, ...inputFields, ...args].filter(({ type }) => isListType(getNullableType(type)))

  it('can be the answer of each field of Query and Mutation, because a permission can refuse it alone', () => {
    // Every key has a viewer, and `nodes` has null for each item that cannot be read.
    const required = [...rootFields('Query'), ...rootFields('Mutation')].filter(({ type }) => isNonNullType(type))
    expect(required.map(({ name }) => name).toSorted()).toEqual(['nodes', 'viewer'])
  })

  it('is no item of a list', () => {
    expect(breaking(lists, ({ type }) => /!\]!?$/.test(String(type)))).toEqual([])
  })

  it('is explained by each field that can be null', () => {
    // A field with a permission of its own is null if the API key lacks it: `errors` says so.
    const keeps = ({ place, description }: Value) => {
      const parent = schema.getType(place.split('.')[0] ?? '')?.description ?? ''
      return (
        /\bnull\b|Needs (the|no) permission/i.test(description ?? '') ||
        /one (of the )?fields? is not null/i.test(parent)
      )
    }
    expect(
      breaking(
        fields.filter(({ type }) => !isNonNullType(type)),
        keeps,
      ),
    ).toEqual([])
  })

  it('and absence are explained by each argument and field of an input that may be left out', () => {
    const choices = inputs.filter(type => !type.isOneOf && !/Filter$/.test(type.name)).flatMap(fieldsOf)
    const cursors = /\((after|before)\)$/
    const keeps = ({ place, description }: Value) =>
      cursors.test(place) || /\b(default\w*|absent|null)\b/i.test(description ?? '')
    expect(breaking([...choices, ...args].filter(isOptional), keeps)).toEqual([])
  })

  it('removes and absence keeps in an update, and each optional field says so', () => {
    const updates = inputs.filter(({ name }) => /^Update\w+Input$/.test(name)).flatMap(fieldsOf)
    const others = ['idempotencyKey', 'expectedHashId', 'expectedCount']
    const changes = updates.filter(({ type, name }) => !isNonNullType(type) && !others.includes(name))
    const keeps = ({ description }: Value) => /absent/i.test(description ?? '') && /null/i.test(description ?? '')
    expect(breaking(changes, keeps)).toEqual([])
  })

  it('is refused in an update only for what it is about and for what is the whole change', () => {
    const updates = inputs.filter(({ name }) => /^Update\w+Input$/.test(name)).flatMap(fieldsOf)
    const whole = [
      'UpdateInstanceBidInput.bidPerHour',
      'UpdateInstancesInput.target',
      'UpdateSecretVariablesInput.variables',
      'UpdateSshKeyInput.publicKey',
    ]
    const required = updates.filter(value => !isOptional(value))
    expect(breaking(required, ({ place, name }) => name === 'id' || whole.includes(place))).toEqual([])
  })

  it('sets no condition in a filter, and each filter says so', () => {
    const filters = inputs.filter(({ name }) => name.endsWith('Filter')).map(type => ({ ...type, place: type.name }))
    expect(breaking(filters, ({ description }) => /null/.test(description ?? ''))).toEqual([])
    // All conditions are optional, so that an empty filter matches everything.
    expect(
      breaking(
        inputFields.filter(({ place }) => /Filter\./.test(place)),
        isOptional,
      ),
    ).toEqual([])
  })
})

describe('a connection', () => {
  const connections = objects.flatMap(fieldsOf).filter(field => typeNameOf(field).endsWith('Connection'))

  it.each(objects.filter(({ name }) => name.endsWith('Connection')))(
    'of type $name has edges, nodes and pageInfo',
    type => {
      expect(fieldsOf(type).map(({ name }) => name)).toEqual(expect.arrayContaining(['edges', 'nodes', 'pageInfo']))
    },
  )

  it.each(connections)('$place takes first, after, last and before', ({ args: given }) => {
    expect(given.map(({ name, type }) => `${name}: ${type}`)).toEqual(
      expect.arrayContaining(['after: String', 'before: String', 'first: Int', 'last: Int']),
    )
  })

  it.each(connections.flatMap(field => field.args.filter(({ name }) => name === 'first')))(
    '$place says the default and the range',
    ({ description }) => {
      expect(description).toMatch(/1-100\. Defaults to 25/)
    },
  )
})

describe('an enum', () => {
  /** Enums whose values are all that there can be, and why. Every other enum says that it will grow. */
  const complete: Record<string, string> = {
    BulkErrorPolicy: 'A command to many changes all or those that it can.',
    InstanceChangeKind: 'An item of a stream is new, changed or gone.',
    InstanceKind: 'A machine runs containers or virtual machines.',
    OfferAvailability: 'An offer can be rented now or it cannot, or both are shown.',
    OfferChangeKind: 'An item of a stream is new, changed or gone.',
    OrderDirection: 'An order has two directions.',
    PermissionCategory: 'REST fixes the categories. What is new is an operation in one of them.',
    PortProtocol: 'Containers publish ports of TCP and UDP.',
    RetryAdvice: 'A request can succeed never, after a change, or later.',
    SpendLimitAction: 'A limit tells, refuses what is new, or also stops what runs. Clients decide what they lose.',
    SpendLimitWindow: 'Costs are limited by the rate, the day or the month of the calendar.',
    TargetState: 'A renter wants an instance to run or to be stopped.',
    UsageBucketSize: 'Hours and days divide a month of the calendar; a week does not.',
    VerificationStatus: 'REST fixes the values.',
    WebhookDeliveryStatus: 'A delivery waits for its first attempt or another, has arrived, or was given up.',
  }

  it('that is complete exists, and does not say that it will grow', () => {
    const found = enums.filter(({ name }) => Object.hasOwn(complete, name))
    expect(found.map(({ name }) => name).toSorted()).toEqual(Object.keys(complete).toSorted())
    expect(found.filter(({ description }) => description?.includes('may be added'))).toEqual([])
  })

  it.each(enums.filter(({ name }) => !Object.hasOwn(complete, name)))(
    '$name says that it will grow',
    ({ description }) => {
      expect(description).toMatch(/New \w+ may be added\./)
    },
  )

  it('has values in capitals', () => {
    const values = enums.flatMap(type => type.getValues().map(({ name }) => `${type.name}.${name}`))
    expect(values.filter(value => !/\.[A-Z][A-Z0-9_]*$/.test(value))).toEqual([])
  })
})

describe('what comes in several variants', () => {
  it('is an input with @oneOf that says so, whose fields can all be left out', () => {
    const choices = inputs.filter(({ isOneOf }) => isOneOf)
    expect(choices.length).toBeGreaterThan(5)
    expect(choices.flatMap(fieldsOf).filter(value => !isOptional(value))).toEqual([])
  })

  // Items that `node` finds are told apart by the prefixes of their ids. A stream of instances has one item that is no change: the
  // sign that all instances were told.
  const others = ['Node', 'InstanceStreamItem']
  const interfaces = objects.filter(type => isInterfaceType(type) && !others.includes(type.name))
  it.each(interfaces)('is told apart by an enum field if it is the interface $name', type => {
    const values = fieldsOf(type).filter(field => isNonNullType(field.type) && isEnumType(getNullableType(field.type)))
    expect(values.map(({ name }) => name)).toContainEqual(expect.stringMatching(/^(kind|code|dimension)$/))
  })
})

describe('a scalar', () => {
  it.each(types.filter(isScalarType))('$name links its specification', ({ specifiedByURL }) => {
    expect(specifiedByURL).toMatch(/^https:\/\//)
  })
})

describe('a description', () => {
  const values = enums.flatMap(type =>
    type.getValues().map(value => ({ ...value, place: `${type.name}.${value.name}` })),
  )
  const described: Place[] = [
    ...types.map(type => ({ place: type.name, description: type.description })),
    ...objects.flatMap(fieldsOf),
    ...[...inputFields, ...args, ...values],
  ]
  const text = ({ description }: Place) => description ?? ''

  it('begins with a capital and ends with a period', () => {
    expect(breaking(described, place => /^[A-Z`"0-9].*[.)]$/s.test(text(place)))).toEqual([])
  })

  it('has four words or more, except where it names something new', () => {
    const says = (place: Place) => text(place).split(/\s+/).length >= 4 || /^The new \w+\.$/.test(text(place))
    expect(breaking(described, says)).toEqual([])
  })

  it('has no word that must be read twice', () => {
    const riddles = [
      /\b(whoever|whosever|whichever|so many|so long|that which|what is wished|is not to)\b/i,
      /\b(as it were|be it|one's|thereof|hereby|respective(ly)?|etc)\b/i,
      // What clients call by its name in the schema is not called by an older name.
      /\b(burn rate|reset|revoked?|register(ed)?|payload|compute price|envFlags|args ?mode)\b/i,
    ]
    expect(
      breaking(described, place => !riddles.some(riddle => riddle.test(text(place).replaceAll(/`[^`]*`/g, '')))),
    ).toEqual([])
  })

  it('has sentences of at most 40 words', () => {
    const longest = (place: Place) =>
      Math.max(
        ...text(place)
          .split(/(?<=[.:;])\s/)
          .map(sentence => sentence.split(/\s+/).length),
      )
    expect(breaking(described, place => longest(place) <= 40)).toEqual([])
  })

  it('of an ID in an input has an example with its prefix', () => {
    const ids = [...inputFields, ...args].filter(value => typeNameOf(value) === 'ID')
    const own = ids.filter(({ place }) => !place.startsWith('IdFilter.') && place !== 'Query.nodes(ids)')
    expect(breaking(own, place => /`\w{3}_42`|`ins_/.test(text(place)))).toEqual([])
  })

  it('of money says US dollars, or is about a field that does', () => {
    const money = fields.filter(value => typeNameOf(value) === 'Usd')
    expect(breaking(money, place => /US dollars?/.test(text(place)))).toEqual([])
  })
})
