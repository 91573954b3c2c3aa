// Countries by their names in English, for those who do not know the codes.

import { nearestNames } from '../nearest.ts'
import { countryCodes } from './regions.ts'

/** Common names that are neither the code of the country nor like its name. */
const otherNames: Record<string, string> = {
  AMERICA: 'US',
  ENGLAND: 'GB',
  HOLLAND: 'NL',
  UAE: 'AE',
  UK: 'GB',
  USA: 'US',
}

/** The countries that the text may mean, each as its code and name: `DE (Germany)`. */
export function countriesLike(text: string): string[] {
  const printed = new Intl.DisplayNames('en', { type: 'region' })
  const nameOf = (code: string) => printed.of(code) ?? code
  const known = otherNames[text.trim().toUpperCase()]
  const codesByName = new Map(countryCodes.map(code => [nameOf(code), code]))
  const codes = known ? [known] : nearestNames(text, [...codesByName.keys()]).map(name => codesByName.get(name) ?? name)
  return codes.map(code => `${code} (${nameOf(code)})`)
}
