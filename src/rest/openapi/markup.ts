/** HTML that can stand as it is. */
export type Markup = { html: string }

/** Whatever is put into it is text, unless it is HTML already. */
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
