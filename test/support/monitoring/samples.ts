// What a gateway exposes in the text format of Prometheus, and whether an expression asks for no more than that.

/** For the name of each sample, the values that each label has. */
export type Samples = Map<string, Map<string, Set<string>>>

export function parseSamples(text: string): Samples {
  const samples: Samples = new Map()
  for (const [, name = '', pairs = ''] of text.matchAll(/^([a-z]\w*)(?:\{(.*)\})? \S+$/gm)) {
    const labels = samples.get(name) ?? new Map<string, Set<string>>()
    samples.set(name, labels)
    for (const [, label = '', value = ''] of pairs.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g))
      labels.set(label, (labels.get(label) ?? new Set()).add(value))
  }
  return samples
}

/** The names of metrics, each of which may have several samples. */
export function parseNames(text: string): string[] {
  return [...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name as string)
}

export function metricsIn(text: string): string[] {
  return [...text.matchAll(/\b(?:berth|process)_\w+/g)].map(([name]) => name)
}

/** Labels that Prometheus adds. */
const added = ['instance', 'job']

/** What an expression asks for that no gateway exposes. */
export function problemsOf(expr: string, samples: Samples): string[] {
  const all = new Set([...added, ...[...samples.values()].flatMap(labels => [...labels.keys()])])
  const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels = '']) => labels.split(/,\s*/))
  const selectors = [...expr.matchAll(/\b(up|(?:berth|process)_\w+)(?:\{([^}]*)\})?/g)]
  return [
    ...(selectors.length === 0 ? ['no metric'] : []),
    ...grouped.filter(label => !all.has(label)),
    ...selectors.flatMap(([, name = '', matchers = '']) => {
      const labels = name === 'up' ? new Map<string, Set<string>>() : samples.get(name)
      if (!labels) return [name]
      return [...matchers.matchAll(/(\w+)(=~|=|!=|!~)"([^"]*)"/g)].flatMap(([, label = '', , value = '']) =>
        added.includes(label) || isExposed(labels.get(label), label, value) ? [] : [`${name}{${label}="${value}"}`],
      )
    }),
  ]
}

/** Statuses are exposed once a request had them. */
function isExposed(values: Set<string> | undefined, label: string, value: string): boolean {
  return values !== undefined && (label === 'status' || value.split('|').every(one => values.has(one)))
}
