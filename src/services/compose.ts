/** Merges parts into one object. Two parts with a member of the same name do not compile. */
export function compose<Parts extends object[]>(...parts: Parts & Distinct<Parts>): Composed<Parts> {
  return Object.assign({}, ...parts)
}

type Composed<Parts> = Parts extends [infer Part, ...infer Rest] ? Part & Composed<Rest> : unknown

/** The parts. A part that repeats names of earlier parts is replaced by an error type that lists them. */
type Distinct<Parts, Names = never> = Parts extends [infer Part, ...infer Rest]
  ? [
      [keyof Part & Names] extends [never] ? Part : { 'these members are in an earlier part': keyof Part & Names },
      ...Distinct<Rest, Names | keyof Part>,
    ]
  : []
