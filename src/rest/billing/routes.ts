import type { Route } from '../route.ts'
import { chargeRoutes } from './charges.ts'
import { invoiceRoutes } from './invoices.ts'

export const routesOfBilling: Route[] = [...chargeRoutes, ...invoiceRoutes]
