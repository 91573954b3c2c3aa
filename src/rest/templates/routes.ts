import type { Route } from '../route.ts'
import { templateListRoutes } from './list.ts'
import { templateRoutes } from './templates.ts'

export const routesOfTemplates: Route[] = [...templateListRoutes, ...templateRoutes]
