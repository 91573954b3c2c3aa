import { describe, expect, it } from 'vitest'
import { formatOf, parseRows } from '../../../src/operator/machines-file.ts'
import { aMachineLine, printCsv } from '../../support/machines/import-files.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const csv = (text: string) => parseRows(bytes(text), 'csv')
const json = (text: string) => parseRows(bytes(text), 'json')
const header = printCsv([aMachineLine()]).split('\n')[0] as string
const line = printCsv([aMachineLine()]).split('\n')[1] as string

describe('a CSV file', () => {
  it('may have a byte order mark, Windows line ends, quotes and blank lines', () => {
    const named = line.replace('AMD EPYC 7713', '"AMD ""Milan"", 7713"')
    expect(csv(`\ufeff${header}\r\n${line}\r\n\r\n${named}`)).toEqual([
      { place: 'line 2', fields: aMachineLine() },
      { place: 'line 4', fields: aMachineLine({ cpuName: 'AMD "Milan", 7713' }) },
    ])
  })

  it('has its lines counted as an editor counts them, even within quotes', () => {
    const long = line.replace('AMD EPYC 7713', '"two\r\nlines"')
    expect(csv(`${header}\r\n${long}\r\n${line}\r\n`).map(({ place }) => place)).toEqual(['line 2', 'line 4'])
  })

  it('may have columns in any order, and may have only a header', () => {
    const reversed = Object.fromEntries(Object.entries(aMachineLine()).toReversed())
    expect(csv(printCsv([reversed]))).toEqual([{ place: 'line 2', fields: aMachineLine() }])
    expect(csv(header)).toEqual([])
  })

  it.each([
    [
      'a header with wrong names',
      `${header},color,country\n${line},red,SE`,
      'header: color: is not the name of a column. header: country: appears more than once.',
    ],
    ['a header with names missing', header.replace(',numGpus', ''), 'header: numGpus: is missing.'],
    ['nothing', '', 'header: gpuModel: is missing.'],
    ['a quote that is not closed', `${header}\n"${line}`, '--file is not CSV: Quote Not Closed'],
    ['a quote within a field', `${header}\n${line.replace('AMD', 'A"MD')}`, '--file is not CSV: Invalid Opening Quote'],
  ])('is refused with %s', (_, text, message) => {
    expect(() => csv(text)).toThrow(message)
  })

  it('has lines that are too short or too long reported, and its other lines read', () => {
    expect(csv(`${header}\n${line},x\n${line}\na,b`)).toEqual([
      { place: 'line 2', problem: 'has 18 fields, and the header has 17.' },
      { place: 'line 3', fields: aMachineLine() },
      { place: 'line 4', problem: 'has 2 fields, and the header has 17.' },
    ])
  })

  it('is refused in another encoding', () => {
    expect(() => parseRows(Buffer.from(`${header}\n${line.replace('AMD', 'é')}`, 'latin1'), 'csv')).toThrow('not UTF-8')
  })
})

describe('a JSON file', () => {
  it('has an array of machines, or one machine on each line', () => {
    const [first, second] = [aMachineLine({ numGpus: 1 }), aMachineLine({ numGpus: 2 })]
    expect(json(`\ufeff ${JSON.stringify([first, second], null, 2)}`)).toEqual([
      { place: 'machine 1', fields: first },
      { place: 'machine 2', fields: second },
    ])
    expect(json(`${JSON.stringify(first)}\r\n\r\n${JSON.stringify(second)}\r\n`)).toEqual([
      { place: 'line 1', fields: first },
      { place: 'line 3', fields: second },
    ])
  })

  it('has values that are not machines reported, and its other values read', () => {
    const none = { problem: 'must be an object with a field for each column.' }
    expect(json('[{}, 5, null, []]')).toEqual([
      { place: 'machine 1', fields: {} },
      ...[2, 3, 4].map(number => ({ place: `machine ${number}`, ...none })),
    ])
    expect(json('{}\n{\n"x"')).toEqual([
      { place: 'line 1', fields: {} },
      { place: 'line 2', problem: expect.stringMatching(/^is not JSON: .*\.$/) },
      { place: 'line 3', ...none },
    ])
  })

  it('is refused as an array that is not JSON', () => {
    expect(() => json('[{}')).toThrow('--file is not JSON: ')
  })
})

describe('the format of a file', () => {
  it('follows the option, or else the end of the file name', () => {
    expect(['a.csv', 'a.CSV', 'a.json', 'a.jsonl', 'a.ndjson'].map(name => formatOf(name, undefined))).toEqual([
      ...['csv', 'csv', 'json', 'json', 'json'],
    ])
    expect(formatOf('a.csv', 'json')).toBe('json')
    expect(() => formatOf('a.txt', undefined)).toThrow(
      '--format is missing, and the name of a.txt does not end in .csv, .json, .jsonl or .ndjson.',
    )
    expect(() => formatOf('a.csv', 'xml')).toThrow('--format must be csv or json, not "xml".')
  })
})
