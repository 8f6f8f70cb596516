/* The index of an image comes from hostile ground. What passes here cannot make the copy reach
 * outside of its tables; what it does to the copy's own memory is the copy's business. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/image/internal.h"

static bool is_page(uint64_t n)
{
    return n % IMAGE_PAGE == 0;
}

/* A string begins there: behind another one's end. */
static bool is_string(const struct image_index *index, uint32_t at)
{
    return at < index->head.n_text && (at == 0 || index->text[at - 1] == '\0');
}

static int check_head(const struct image_index *index, uint64_t file_size,
                      struct image_refusal *why)
{
    const struct image_head *h = &index->head;

    if (h->n_maps > IMAGE_MAPS_MAX || h->n_runs > IMAGE_RUNS_MAX || h->n_fds > IMAGE_FDS_MAX ||
        h->n_text > IMAGE_TEXT_MAX || h->n_images > IMAGE_CHAIN_MAX)
        return image_refuse(why, "the image's tables are too large");
    if (h->index_offset < IMAGE_HEAD_SIZE || h->index_offset > file_size ||
        !is_page(h->index_offset))
        return image_refuse(why, "the image's tables are not in it");
    if (h->n_text == 0 || index->text[h->n_text - 1] != '\0' || !is_string(index, h->cwd))
        return image_refuse(why, "the image's names are damaged");
    if (h->brk >= IMAGE_ADDRESS_END || h->context.rsp >= IMAGE_ADDRESS_END ||
        h->context.rip >= IMAGE_ADDRESS_END)
        return image_refuse(why, "the image's registers are damaged");
    return 0;
}

static bool is_sane_map(const struct image_index *index, const struct image_map *map)
{
    if (map->start >= map->end || map->end > IMAGE_ADDRESS_END - IMAGE_PAGE || map->start == 0 ||
        !is_page(map->start) || !is_page(map->end) || !is_page(map->offset) ||
        map->offset > UINT64_C(1) << 62)
        return false;
    if (map->kind >= IMAGE_MAP_KINDS || map->prot > 7 || map->is_shared > 1)
        return false;
    if (map->is_shared && map->kind != IMAGE_MAP_FILE)
        return false;
    return is_string(index, map->name);
}

static int check_maps(const struct image_index *index, struct image_refusal *why)
{
    uint64_t end = 0;

    for (uint32_t i = 0; i < index->head.n_maps; i++) {
        const struct image_map *map = &index->maps[i];

        if (!is_sane_map(index, map) || map->start < end)
            return image_refuse(why, "the image's table of mappings is damaged");
        end = map->end;
    }
    return 0;
}

static bool is_sane_run(const struct image_index *index, const struct image_run *run)
{
    uint64_t len = (uint64_t)run->pages * IMAGE_PAGE;
    const struct image_map *map;

    if (run->map >= index->head.n_maps || run->pages == 0 || !is_page(run->start) ||
        !is_page(run->offset))
        return false;
    map = &index->maps[run->map];
    return !map->is_shared && run->start >= map->start && run->start < map->end &&
           len <= map->end - run->start && run->offset >= IMAGE_HEAD_SIZE &&
           run->offset < index->head.index_offset && len <= index->head.index_offset - run->offset;
}

static int check_runs(const struct image_index *index, struct image_refusal *why)
{
    uint64_t end = 0;

    for (uint32_t i = 0; i < index->head.n_runs; i++) {
        const struct image_run *run = &index->runs[i];

        if (!is_sane_run(index, run) || run->start < end)
            return image_refuse(why, "the image's table of pages is damaged");
        end = run->start + (uint64_t)run->pages * IMAGE_PAGE;
    }
    return 0;
}

static int check_fds(const struct image_index *index, struct image_refusal *why)
{
    for (uint32_t i = 0; i < index->head.n_fds; i++) {
        const struct image_fd *fd = &index->fds[i];

        if (fd->kind >= IMAGE_FD_KINDS || fd->number > INT32_MAX || fd->own > INT32_MAX ||
            fd->offset > INT64_MAX || !is_string(index, fd->name) ||
            (i > 0 && fd->number <= index->fds[i - 1].number))
            return image_refuse(why, "the image's table of descriptors is damaged");
    }
    return 0;
}

static int check_index(const struct image_index *index, uint64_t file_size,
                       struct image_refusal *why)
{
    if (check_head(index, file_size, why) < 0 || check_maps(index, why) < 0 ||
        check_runs(index, why) < 0)
        return -1;
    return check_fds(index, why);
}

/* --- reading --- */

static int read_part(int fd, void *data, size_t len, uint64_t *at, struct image_refusal *why)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = pread(fd, (char *)data + done, len - done, (off_t)(*at + done));

        if (n <= 0)
            return image_refuse(why, "the image ends too early");
        done += (size_t)n;
    }
    *at += len;
    return 0;
}

static int check_origin(const struct image_head *head, const uint8_t zygote[16],
                        struct image_refusal *why)
{
    if (memcmp(head->magic, IMAGE_MAGIC, sizeof(head->magic)) != 0)
        return image_refuse(why, "the image is empty or not an image");
    if (memcmp(head->zygote, zygote, sizeof(head->zygote)) != 0)
        return image_refuse(why, "the image was written by another zygote, whose memory differs");
    return 0;
}

int image_index_read(int fd, const uint8_t zygote[16], struct image_index *index,
                     struct image_refusal *why)
{
    struct image_head *head = &index->head;
    struct stat st;
    uint64_t at = 0;

    if (fstat(fd, &st) < 0)
        return image_refuse(why, "the image cannot be read");
    if (read_part(fd, head, sizeof(*head), &at, why) < 0 || check_origin(head, zygote, why) < 0)
        return -1;
    if (head->n_maps > IMAGE_MAPS_MAX || head->n_runs > IMAGE_RUNS_MAX ||
        head->n_fds > IMAGE_FDS_MAX || head->n_text > IMAGE_TEXT_MAX ||
        head->index_offset > INT64_MAX / 2)
        return image_refuse(why, "the image's tables are too large");
    at = head->index_offset;
    if (read_part(fd, index->maps, head->n_maps * sizeof(index->maps[0]), &at, why) < 0 ||
        read_part(fd, index->runs, head->n_runs * sizeof(index->runs[0]), &at, why) < 0 ||
        read_part(fd, index->fds, head->n_fds * sizeof(index->fds[0]), &at, why) < 0 ||
        read_part(fd, index->text, head->n_text, &at, why) < 0)
        return -1;
    return check_index(index, (uint64_t)st.st_size, why);
}
