import type { Route } from '../route.ts'
import { templateListRoutes } from './list.ts'
import { templateChangeRoutes } from './templates.ts'

export const templateRoutes: Route[] = [...templateListRoutes, ...templateChangeRoutes]
