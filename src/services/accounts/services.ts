import { compose } from '../compose.ts'
import type { Deps } from '../deps.ts'
import { accountServices } from './accounts.ts'
import { apiKeyServices } from './api-keys/api-keys.ts'
import { identityServices } from './api-keys/identity.ts'
import { apiKeyUpdateServices } from './api-keys/update.ts'
import { secretVariableServices } from './secret-variables.ts'
import { attachServices } from './ssh-keys/attach.ts'
import { attachByPublicKeyServices } from './ssh-keys/attach-by-public-key.ts'
import { createSshKeyServices } from './ssh-keys/create.ts'
import { sshKeyServices } from './ssh-keys/ssh-keys.ts'
import { sshKeyUpdateServices } from './ssh-keys/update.ts'

export function createAccountServices(deps: Deps) {
  return {
    accounts: accountServices(deps),
    apiKeys: compose(identityServices(deps), apiKeyServices(deps), apiKeyUpdateServices(deps)),
    secretVariables: secretVariableServices(deps),
    sshKeys: compose(
      sshKeyServices(deps),
      createSshKeyServices(deps),
      attachServices(deps),
      attachByPublicKeyServices(deps),
      sshKeyUpdateServices(deps),
    ),
  }
}
