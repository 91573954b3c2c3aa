import { z } from 'zod'
import { boolean, integer, number, text } from '../values.ts'

const optionalText = (about: string) => z.string().nullable().describe(about)

export const templateRowSchema = z
  .object({
    id: integer('The template. It stays when the template is changed.'),
    hash_id: text('What rentals name it by. A changed template has another.'),
    creator_id: z.int().nullable().describe('The account, where it is yours; null for a public one of another.'),
    name: text('What its owner calls it.'),
    image: text('The image, without its tag where that was given apart.'),
    tag: text('The tag, where it was given apart; else "".'),
    env: text('Variables, ports and a host name as flags of docker. Secret values are masked.'),
    onstart: text('The commands that run once it is up, or "".'),
    runtype: z.enum(['ssh', 'jupyter', 'args']).describe('The launch mode; ssh where that is left to the rental.'),
    use_ssh: boolean('Whether SSH logs in to it.'),
    ssh_direct: boolean('Whether SSH has a public port of its own.'),
    jup_direct: boolean('Whether the notebook has a public port of its own.'),
    use_jupyter_lab: boolean('The lab interface instead of the notebook.'),
    jupyter_dir: optionalText('Where the notebook server starts.'),
    args_str: optionalText('The arguments of the image, in the launch mode args.'),
    docker_login_repo: text('The private registry, or "".'),
    docker_login_user: text('Who pulls, or "".'),
    docker_login_pass: text('A mask where there is a password, else "".'),
    recommended_disk_space: number('The disk in GB.'),
    recommended: boolean('Always false: none is recommended.'),
    extra_filters: text('A search for offers that suit it, as JSON in a text.'),
    private: boolean('Whether nobody else can rent with it.'),
    desc: text('What it is, in a few words.'),
    readme: text('What it is, at length.'),
    readme_visible: boolean('Whether that is to be shown.'),
    href: text('A page about it, or "".'),
    repo: text('A page of its image, or "".'),
    volume_info: z
      .object({ mount_path: text('The path inside.'), size: z.number().nullable().describe('How large, in GB.') })
      .nullable()
      .describe('Where a volume would be of use. It attaches none.'),
    count_created: integer('How many instances your account has rented with it.'),
    created_at: number('When it was first saved, in seconds since 1970.'),
    updated_at: number('When it was last saved, in seconds since 1970.'),
  })
  .meta({ id: 'Template', description: 'Settings to begin rentals with.' })

export type TemplateRow = z.output<typeof templateRowSchema>

export const templateColumnsSchema = templateRowSchema
  .partial()
  .catchall(z.null())
  .meta({ id: 'TemplateColumns', description: 'The selected columns of a template. One that does not exist is null.' })

export type TemplateColumns = z.output<typeof templateColumnsSchema>
