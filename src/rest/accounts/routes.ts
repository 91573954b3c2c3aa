import type { Route } from '../route.ts'
import { accountRoutes } from './accounts.ts'
import { apiKeyRoutes } from './api-keys.ts'
import { secretVariableRoutes } from './secret-variables.ts'
import { sshKeyRoutes } from './ssh-keys.ts'

export const routesOfAccounts: Route[] = [...accountRoutes, ...sshKeyRoutes, ...apiKeyRoutes, ...secretVariableRoutes]
