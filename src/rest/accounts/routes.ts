import type { Route } from '../route.ts'
import { currentUserRoutes } from './accounts.ts'
import { apiKeyRoutes } from './api-keys.ts'
import { secretVariableRoutes } from './secret-variables.ts'
import { sshKeyRoutes } from './ssh-keys.ts'

export const accountRoutes: Route[] = [...currentUserRoutes, ...sshKeyRoutes, ...apiKeyRoutes, ...secretVariableRoutes]
