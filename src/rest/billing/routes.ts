import type { Route } from '../route.ts'
import { chargeRoutes } from './charges.ts'
import { invoiceRoutes } from './invoices.ts'

export const billingRoutes: Route[] = [...chargeRoutes, ...invoiceRoutes]
