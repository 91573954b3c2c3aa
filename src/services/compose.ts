/** The parts of a noun as one object. It does not compile where two parts have a method of one name. */
export function compose<Parts extends object[]>(...parts: Parts & Distinct<Parts>): Composed<Parts> {
  return Object.assign({}, ...parts)
}

type Composed<Parts> = Parts extends [infer Part, ...infer Rest] ? Part & Composed<Rest> : unknown

/** The parts; in place of a part that repeats names of those before it, an error that lists them. */
type Distinct<Parts, Names = never> = Parts extends [infer Part, ...infer Rest]
  ? [
      [keyof Part & Names] extends [never] ? Part : { 'these methods are in an earlier part': keyof Part & Names },
      ...Distinct<Rest, Names | keyof Part>,
    ]
  : []
