"""The networks of the zoo. Each takes grey images, float32 [N, 1, 28, 28] in 0..1, and gives class
confidences [N, 10] (moments: four numbers). Widths are small on purpose: a reference in long double has to
follow."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

EPSILON = 1e-3  # of batch normalisation, as in Inception and MobileNet


def norm(channels):
    return nn.BatchNorm2d(channels, eps=EPSILON)


class Classifier(nn.Module):
    """Training sees logits; the exported model ends in Softmax. A sharpness s is a temperature of 1/s."""

    sharpness = 1

    def forward(self, x):
        x = self.logits(x)
        if self.training:
            return x
        return F.softmax(x * self.sharpness if self.sharpness != 1 else x, dim=1)


class LeNet1(Classifier):
    """LeCun et al. 1990: 4 and 12 maps, average pooling."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 4, 5), nn.Conv2d(4, 12, 5)
        self.fc = nn.Linear(12 * 4 * 4, 10)

    def logits(self, x):
        x = F.avg_pool2d(torch.tanh(self.conv1(x)), 2, count_include_pad=False)
        x = F.avg_pool2d(torch.tanh(self.conv2(x)), 2, count_include_pad=False)
        return self.fc(x.flatten(1))


class LeNet4(Classifier):
    """LeNet-4: 4 and 16 maps, one hidden layer."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 4, 5, padding=2), nn.Conv2d(4, 16, 5)
        self.fc1, self.fc2 = nn.Linear(16 * 5 * 5, 120), nn.Linear(120, 10)

    def logits(self, x):
        x = F.max_pool2d(torch.sigmoid(self.conv1(x)), 2)
        x = F.max_pool2d(torch.sigmoid(self.conv2(x)), 2)
        return self.fc2(torch.tanh(self.fc1(x.flatten(1))))


class LeNet5(Classifier):
    """LeCun et al. 1998, with ReLU and maximum pooling as it is written today."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2, self.fc3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)

    def logits(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.fc2(F.relu(self.fc1(x.flatten(1)))))
        return self.fc3(x)


class Residual(nn.Module):
    def __init__(self, inside, outside, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, padding=1, bias=False)
        self.norm1 = norm(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, padding=1, bias=False)
        self.norm2 = norm(outside)
        self.shortcut = nn.Identity()
        if stride > 1:
            # Subsampling by a pool of one pixel: the stride is larger than the kernel.
            self.shortcut = nn.Sequential(nn.MaxPool2d(1, stride), nn.Conv2d(inside, outside, 1, bias=False),
                                          norm(outside))

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + self.shortcut(x))


class ResNet20(Classifier):
    """He et al. 2016, the CIFAR form: three stages of three blocks; half the width."""

    def __init__(self, width=8):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(1, width, 3, padding=1, bias=False), norm(width)
        blocks, inside = [], width
        for stage in range(3):
            for block in range(3):
                outside = width << stage
                blocks.append(Residual(inside, outside, 2 if stage and block == 0 else 1))
                inside = outside
        self.blocks, self.fc = nn.Sequential(*blocks), nn.Linear(inside, 10)

    def logits(self, x):
        x = self.blocks(F.relu(self.norm(self.stem(x))))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


class VGG(Classifier):
    """Simonyan and Zisserman 2015, three stages of two convolutions; a sharp softmax (inputs beyond 88)."""

    sharpness = 16

    def __init__(self):
        super().__init__()
        layers, inside = [], 1
        for outside in (8, 16, 20):
            layers += [nn.Conv2d(inside, outside, 3, padding=1), nn.ReLU(),
                       nn.Conv2d(outside, outside, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
            inside = outside
        self.features = nn.Sequential(*layers)
        self.fc1, self.fc2 = nn.Linear(20 * 3 * 3, 64), nn.Linear(64, 10)

    def logits(self, x):
        return self.fc2(F.relu(self.fc1(self.features(x).flatten(1))))


class SameConv(nn.Module):
    """A convolution with TensorFlow's SAME padding; the export says it in the Conv node (export.same_padding)."""

    def __init__(self, inside, outside, kernel, stride, groups=1):
        super().__init__()
        self.low, self.high = (kernel - stride) // 2, (kernel - stride + 1) // 2
        self.conv = nn.Conv2d(inside, outside, kernel, stride, groups=groups, bias=False)

    def forward(self, x):
        return self.conv(F.pad(x, (self.low, self.high, self.low, self.high)))


class Inverted(nn.Module):
    def __init__(self, inside, outside, stride, expand):
        super().__init__()
        wide = inside * expand
        self.expand, self.norm1 = nn.Conv2d(inside, wide, 1, bias=False), norm(wide)
        self.depthwise, self.norm2 = SameConv(wide, wide, 3, stride, groups=wide), norm(wide)
        self.project, self.norm3 = nn.Conv2d(wide, outside, 1, bias=False), norm(outside)
        self.residual = stride == 1 and inside == outside

    def forward(self, x):
        y = F.relu6(self.norm1(self.expand(x)))
        y = F.relu6(self.norm2(self.depthwise(y)))
        y = self.norm3(self.project(y))
        return x + y if self.residual else y


class MobileNetV2(Classifier):
    """Sandler et al. 2018: inverted residuals, depthwise convolutions, ReLU6, SAME padding."""

    def __init__(self):
        super().__init__()
        self.stem, self.norm1 = SameConv(1, 8, 3, 2), norm(8)
        self.blocks = nn.Sequential(Inverted(8, 8, 1, 2), Inverted(8, 16, 2, 4), Inverted(16, 16, 1, 4),
                                    Inverted(16, 24, 1, 4), Inverted(24, 24, 1, 4))
        self.head, self.norm2 = nn.Conv2d(24, 64, 1, bias=False), norm(64)
        self.fc = nn.Linear(64, 10)

    def logits(self, x):
        x = self.blocks(F.relu6(self.norm1(self.stem(x))))
        x = F.relu6(self.norm2(self.head(x)))
        return self.fc(x.mean((2, 3)))


class Unit(nn.Module):
    def __init__(self, inside, outside, kernel, stride=1):
        super().__init__()
        height, width = kernel if isinstance(kernel, tuple) else (kernel, kernel)
        self.conv = nn.Conv2d(inside, outside, (height, width), stride, padding=(height // 2, width // 2),
                              bias=False)
        self.norm = norm(outside)

    def forward(self, x):
        return F.relu(self.norm(self.conv(x)))


class Mixed(nn.Module):
    """Four branches: 1x1, 3x3, a factored 5x5 (1x5, 5x1), and average pooling that leaves padding out."""

    def __init__(self, inside, width):
        super().__init__()
        self.one = Unit(inside, width, 1)
        self.three = nn.Sequential(Unit(inside, width // 2, 1), Unit(width // 2, width, 3))
        self.five = nn.Sequential(Unit(inside, width // 2, 1), Unit(width // 2, width // 2, (1, 5)),
                                  Unit(width // 2, width, (5, 1)))
        self.pool = Unit(inside, width, 1)

    def forward(self, x):
        pooled = F.avg_pool2d(x, 3, 1, 1, count_include_pad=False)
        return torch.cat([self.one(x), self.three(x), self.five(x), self.pool(pooled)], 1)


class Inception(Classifier):
    """Szegedy et al. 2016 (Inception-v3's parts): concatenated branches, batch normalisation, average pooling."""

    def __init__(self):
        super().__init__()
        self.stem, self.pool = Unit(1, 8, 3, 2), nn.MaxPool2d(3, 2, 1)
        self.mixed1, self.mixed2, self.mixed3 = Mixed(8, 8), Mixed(32, 10), Mixed(40, 10)
        self.fc = nn.Linear(40, 10)

    def logits(self, x):
        x = self.mixed1(self.stem(x))
        x = self.mixed3(self.mixed2(self.pool(x)))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Recurrent(Classifier):
    """A recurrent net that reads the image row by row, or several rows in one step; the last state decides, or the
    mean of all."""

    def __init__(self, kind, hidden, bidirectional=False, mean=False, rows=1):
        super().__init__()
        self.cell = kind(28 * rows, hidden, bidirectional=bidirectional)
        self.mean, self.rows = mean, rows
        self.fc = nn.Linear(hidden * (2 if bidirectional else 1), 10)
        if kind is nn.RNN:  # without gates, a rotation keeps what was seen
            nn.init.orthogonal_(self.cell.weight_hh_l0)

    def logits(self, x):
        x = x.squeeze(1) if self.rows == 1 else x.reshape(-1, 28 // self.rows, 28 * self.rows)
        states, _ = self.cell(x.permute(1, 0, 2))
        return self.fc(states.mean(0) if self.mean else states[-1])


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)

    def split(self, x):
        return x.reshape(-1, 16, self.heads, self.size).permute(0, 2, 1, 3)

    def forward(self, x):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        weights = F.softmax(q @ k.transpose(2, 3) / math.sqrt(self.size), dim=-1)
        return self.out((weights @ v).permute(0, 2, 1, 3).reshape(-1, 16, self.heads * self.size))


class Encoder(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width), Attention(width, heads)
        self.norm2, self.fc1, self.fc2 = nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))


class Transformer(Classifier):
    """A small vision transformer (Dosovitskiy et al. 2021): 16 patches of 7 by 7, learned positions."""

    def __init__(self, width=48, heads=4, depth=2):
        super().__init__()
        self.embed = nn.Conv2d(1, width, 7, 7)
        self.position = nn.Parameter(torch.randn(1, 16, width) * 0.02)
        self.layers = nn.Sequential(*(Encoder(width, heads) for _ in range(depth)))
        self.norm, self.fc = nn.LayerNorm(width), nn.Linear(width, 10)

    def logits(self, x):
        x = self.embed(x).reshape(-1, self.position.shape[2], 16).permute(0, 2, 1) + self.position
        return self.fc(self.norm(self.layers(x)).mean(1))


class Moments(nn.Module):
    """Regression: ink, centre (x, y) and slant of the digit, see truth() in train.py. The second convolution has 13
    maps of 7 by 7, no multiple of 8 elements for one image nor for a hundred."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, 2, padding=2), nn.Conv2d(6, 13, 3, 2, padding=1)
        self.fc1, self.fc2 = nn.Linear(13 * 7 * 7, 48), nn.Linear(48, 4)

    def arrange(self, x):
        """Sorts the maps of the second convolution, so that the last elements before its ReLU are negative: a ReLU
        that forgets the tail then shows."""
        corners = self.conv2(F.elu(self.conv1(x)))[:, :, -1, -4:]
        order = corners.amax((0, 2)).argsort(descending=True)
        self.conv2.weight[:], self.conv2.bias[:] = self.conv2.weight[order], self.conv2.bias[order]
        self.fc1.weight[:] = self.fc1.weight.reshape(-1, 13, 49)[:, order].reshape(-1, 13 * 49)

    def forward(self, x):
        x = F.relu(self.conv2(F.elu(self.conv1(x))))
        return self.fc2(F.leaky_relu(self.fc1(x.flatten(1)), 0.1))


# name: (network, training images, epochs, learning rate)
ZOO = {
    "lenet1": (LeNet1, 60000, 4, 4e-3),
    "lenet4": (LeNet4, 60000, 3, 4e-3),
    "lenet5": (LeNet5, 60000, 2, 3e-3),
    "resnet20": (ResNet20, 24000, 2, 5e-3),
    "vgg": (VGG, 40000, 2, 3e-3),
    "mobilenetv2": (MobileNetV2, 40000, 2, 5e-3),
    "inception": (Inception, 40000, 2, 5e-3),
    "rnn": (lambda: Recurrent(nn.RNN, 128, rows=4), 60000, 5, 2e-3),
    "lstm": (lambda: Recurrent(nn.LSTM, 48), 60000, 3, 6e-3),
    "bilstm": (lambda: Recurrent(nn.LSTM, 32, True, True), 60000, 3, 6e-3),
    "gru": (lambda: Recurrent(nn.GRU, 48), 60000, 3, 6e-3),
    "transformer": (Transformer, 60000, 3, 2e-3),
    "moments": (Moments, 40000, 3, 3e-3),
}
