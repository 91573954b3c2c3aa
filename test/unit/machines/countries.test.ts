import { expect, it } from 'vitest'
import { countriesLike } from '../../../src/domain/machines/countries.ts'

it.each([
  ['Germany', ['DE (Germany)']],
  ['germny', ['DE (Germany)']],
  ['south korea', ['KR (South Korea)']],
  ['USA', ['US (United States)']],
  ['uk', ['GB (United Kingdom)']],
  ['Holland', ['NL (Netherlands)']],
  ['xx', []],
  ['', []],
])('%j may mean %j', (text, countries) => {
  expect(countriesLike(text)).toEqual(countries)
})
