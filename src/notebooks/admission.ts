// Decides whether a request may go on to a notebook. All requests without the right token get the same answer: it tells
// nobody which instances exist.

import type { IncomingMessage } from 'node:http'
import { type NotebookProxy, parseNotebookHost } from '../domain/instances/notebook.ts'
import { findRequestProblem } from '../http/refusal.ts'
import type { NotebookAccess, NotebookServices } from '../services/instances/notebooks/services.ts'
import { cookieNameOf, findCredential, isFromElsewhere, printCookie, showsToken } from './credentials.ts'
import type { Refusal } from './refusal.ts'

export type Admission = {
  access: NotebookAccess
  /** The cookie that the answer sets; undefined if the client needs none. */
  cookie: string | undefined
}
type AdmissionDeps = { notebooks: NotebookServices; proxy: NotebookProxy; onWrongToken(): void }

export async function admit(request: IncomingMessage, deps: AdmissionDeps): Promise<Admission | Refusal> {
  const { notebooks, proxy, onWrongToken } = deps
  const problem = findRequestProblem(request) ?? findBodyProblem(request)
  if (problem) return refused(400, problem)
  const host = request.headers.host ?? ''
  const instanceId = parseNotebookHost(host, proxy)
  if (instanceId === undefined) return refused(404, 'There is no notebook at this address.')
  const access = await notebooks.find(instanceId)
  const cookieName = cookieNameOf(proxy)
  const credential = access && findCredential(request, access, cookieName)
  if (!access || !credential) {
    if (showsToken(request)) onWrongToken()
    return { ...refused(401, tokenNeeded), asksToken: true }
  }
  if (credential === 'cookie' && isFromElsewhere(request, `${proxy.protocol}://${host.toLowerCase()}`))
    return refused(403, 'Another site asked for this. Open the notebook itself.')
  if (access.refusal) return { status: 503, message: access.refusal, outcome: 'unreachable' }
  return { access, cookie: credential === 'query' ? printCookie(proxy, cookieName, access.cookie) : undefined }
}

const tokenNeeded =
  'This notebook needs its token. The renter of the instance finds it next to this address, as notebookToken (REST: jupyter_token).'

/** Servers disagree about the end of bodies with other codings. */
function findBodyProblem({ headers }: IncomingMessage): string | undefined {
  const coding = headers['transfer-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') return 'The Transfer-Encoding must be chunked.'
  const hasBody = coding !== undefined || Number(headers['content-length'] ?? 0) > 0
  return headers.upgrade?.toLowerCase() === 'websocket' && hasBody ? 'A handshake has no body.' : undefined
}

function refused(status: number, message: string): Refusal {
  return { status, message, outcome: 'refused' }
}
