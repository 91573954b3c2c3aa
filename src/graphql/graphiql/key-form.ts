/** Stands for the key in the headers of tabs. */
export const keyPlaceholder = 'YOUR_API_KEY'
const noKey = 'There is no API key yet. Open the link that Berth names when it starts, or paste a key:'

/** The bar above GraphiQL that asks for a key. */
export const keyForm = `<form id="key" hidden>
<output>${noKey}</output>
<input name="key" type="password" aria-label="API key" required autocomplete="off">
<button>Use it</button>
</form>`

/**
 * Runs in the browser before GraphiQL. The bar is there while the page has no key, and again when the gateway refuses the
 * one that it sends. A pasted key is tried before it is taken. Until there is one, requests are sent without.
 */
export const keyFormScript = `
{
  const form = document.querySelector('#key')
  const show = text => {
    form.hidden = false
    form.querySelector('output').textContent = text
  }
  const send = fetch
  self.fetch = async (url, request) => {
    const headers = new Headers(request?.headers)
    const isKeyless = headers.get('authorization') === 'Bearer ${keyPlaceholder}'
    if (isKeyless) headers.delete('authorization')
    const response = await send(url, isKeyless ? { ...request, headers } : request)
    if (response.status === 401 && !isKeyless)
      show('The gateway does not accept the API key: it is unknown, expired or revoked. Paste another one:')
    return response
  }
  const findProblem = async key => {
    if (!/^berth_\\w+$/.test(key)) return 'This is no API key: one begins with berth_ and has no spaces. Paste a key:'
    const headers = { authorization: 'Bearer ' + key, 'content-type': 'application/json' }
    const body = JSON.stringify({ query: '{ __typename }' })
    const response = await send(location.pathname, { method: 'POST', headers, body })
    const { errors = [] } = await response.json()
    return errors[0]?.message
  }
  form.hidden = berthKey !== null
  form.addEventListener('submit', async event => {
    event.preventDefault()
    const key = form.elements.key.value.trim().replace(/^Bearer\\s+/i, '')
    const problem = await findProblem(key).catch(() => 'The gateway does not answer. Try again:')
    if (problem) return show(problem)
    sessionStorage.setItem('berth:key', key)
    location.reload()
  })
}`
