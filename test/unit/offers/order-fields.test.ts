import { type GraphQLObjectType, getNamedType, isObjectType } from 'graphql'
import { expect, it } from 'vitest'
import { orderFields } from '../../../src/graphql/offers/order-fields.ts'
import { schema } from '../../../src/graphql/schema.ts'

const figures = ['Int', 'Float', 'Usd', 'DateTime']
/** Figures of one GPU or of the whole machine, for which an offer has a field of its own, and the time of the read. */
const unordered = ['Machine.numGpus', 'GpuModel.tflops', 'OfferPrice.diskGb', 'Offer.asOf', 'GpuModel.maxPowerWatts']
const prefixed = ['memoryBandwidthGigabytesPerSecond']

it.each(['Offer', 'OfferPrice', 'Machine', 'GpuModel'])(
  'orders by every figure that %s shows, named as its field',
  type => {
    const object = schema.getType(type) as GraphQLObjectType
    expect(isObjectType(object)).toBe(true)
    const fields = Object.values(object.getFields()).filter(field => figures.includes(getNamedType(field.type).name))
    const names = fields.map(({ name }) => name).filter(name => !unordered.includes(`${type}.${name}`))
    const orders = names.map(name => (prefixed.includes(name) ? `gpu${name[0]?.toUpperCase()}${name.slice(1)}` : name))
    const values = orders.map(name => name.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase())
    expect(values.filter(value => !Object.hasOwn(orderFields, value))).toEqual([])
    expect(values.length).toBeGreaterThan(0)
  },
)
