/** HTML that needs no escaping. */
export type Markup = { html: string }

/** Escapes every value that is not Markup. */
export function html(parts: TemplateStringsArray, ...values: (string | Markup | Markup[])[]): Markup {
  const shown = values.map(value => (typeof value === 'string' ? escapeHtml(value) : joinMarkup([value].flat())))
  return { html: parts.map((part, index) => part + (shown[index] ?? '')).join('') }
}

function joinMarkup(all: Markup[]): string {
  return all.map(one => one.html).join('')
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, character => entities[character] as string)
}
