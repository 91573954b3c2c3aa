import { builder } from './builder.ts'
import './scalars.ts'
import './types/nodes.ts'
import './types/accounts.ts'
import './types/gpu-models.ts'
import './types/machines.ts'
import './types/offers.ts'
import './types/offers-search.ts'

builder.queryType({ description: 'What can be asked. Every field needs a key; see `Authorization: Bearer`.' })

export const schema = builder.toSchema()
